"""The errors that end the grading of a submission early."""


class RefusedError(Exception):
    """The submission cannot be graded as it is. The message is for the student."""


class ProcessEndedError(Exception):
    """The student's process is gone, or no longer makes sense. The message says why."""


class ProcessCrashedError(ProcessEndedError):
    """The student's process crashed, or something outside ended it."""


class MachineryError(RuntimeError):
    """The grader failed, not the student. Grading tries again, then asks a person."""
