"""Check, predict, reveal, review: what a student does, and what is kept of it."""
