"""What changes grades once they stand, and what takes them to an LMS."""
