"""Runs one notebook in the sandbox and judges, outside it, the values that come out."""
