"""The grader's code that runs in the sandbox, next to the student's. It contains no answers."""
