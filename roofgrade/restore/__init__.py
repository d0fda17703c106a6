"""Rebuilds the released notebook with the student's answers in it."""
