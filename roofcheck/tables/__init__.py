"""Every question by its id, read from the tables in ``questions``, and drawn anew."""
