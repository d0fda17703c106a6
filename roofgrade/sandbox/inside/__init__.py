"""The code that runs in the sandbox, next to the student's. None of it knows an answer."""
