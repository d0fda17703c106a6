"""Runs a notebook in the sandbox and judges its replies outside."""
