"""Submitted files: whose they are, and which of them may be read."""
