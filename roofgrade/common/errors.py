"""Errors that end a submission's grading early."""


class RefusedError(Exception):
    """The submission cannot be graded as it is. The message is for the student."""


class ProcessEndedError(Exception):
    """The student's process has ended or sent an invalid reply. The message says why."""


class ProcessCrashedError(ProcessEndedError):
    """The student's process crashed or was killed from outside."""


class MachineryError(RuntimeError):
    """The grader itself failed. Grading retries, and then leaves the submission to a person."""
