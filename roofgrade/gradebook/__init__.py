"""Results as files, and nbgrader's gradebook, which only one writer fills."""
