"""One grading run: a task per submission, the workers that do them, and their results."""
