"""Check, predict, reveal and review, and the student's file of answers."""
