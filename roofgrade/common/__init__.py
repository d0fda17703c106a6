"""Helpers for all of grading: link-safe file access, limits, sentences, errors and CSV."""
