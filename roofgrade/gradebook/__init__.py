"""Stores results in files, and in nbgrader's gradebook through a single writer."""
