"""Regrading, late penalties, and grades for an LMS."""
