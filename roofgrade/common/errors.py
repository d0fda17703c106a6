"""How grading one submission can end early, and whose fault it is."""


class RefusedError(Exception):
    """The submission cannot be graded as it is; the message is for the student."""


class ProcessEndedError(Exception):
    """The student's process is gone, or no longer makes sense; the message says why."""


class ProcessCrashedError(ProcessEndedError):
    """The process is gone without a word: it crashed, or something outside has ended it."""


class MachineryError(RuntimeError):
    """The grader failed, not the student: try again, then ask a person; never a zero."""
