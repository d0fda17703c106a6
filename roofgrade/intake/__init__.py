"""Submitted files: their owners, and the ones that may be read."""
