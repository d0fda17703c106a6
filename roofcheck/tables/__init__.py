"""Read the tables in ``questions``, and draw each student's numbers."""
