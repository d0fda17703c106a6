"""What is kept: results as files, and nbgrader's gradebook, which one writer fills."""
