"""Check, predict, reveal and review answers, and store them in the student's file."""
