"""Runs notebooks in the sandbox and judges their replies outside it."""
