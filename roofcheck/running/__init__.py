"""A student's function, called within a time limit, and what it did on a counting machine."""
