"""Finds submitted files and their owners, and reads them within limits."""
