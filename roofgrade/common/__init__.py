"""Helpers for every part of grading: file access without links, limits, sentences, errors, CSV."""
