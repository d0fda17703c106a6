"""Late penalties: a share of the points per day, after a grace period in hours.

nbgrader sets a penalty during grading, before anyone has read the paragraphs. ``apply_penalties``
bases it on the whole score, after everything is read, and can be repeated when marks change.
"""

import math
from dataclasses import dataclass

from roofgrade.common.results import GRADED
from roofgrade.gradebook.database import open_gradebook
from roofgrade.gradebook.due_dates import update_due_date
from roofgrade.gradebook.standings import read_standings

HOUR, DAY = 3_600, 86_400


@dataclass(frozen=True)
class LatePolicy:
    """The share of the score lost per day or part of one, after ``grace`` hours, up to ``most``."""

    per_day: float
    grace: float = 0.0
    most: float = 1.0

    def penalty(self, score, seconds_late):
        """Return the penalty for this delay, in points, at most the score.

        >>> LatePolicy(per_day=0.1, grace=2).penalty(20, 26 * HOUR)
        2.0
        >>> LatePolicy(per_day=0.1, grace=2).penalty(20, 26 * HOUR + 1)
        4.0
        """
        days = max(0, math.ceil((seconds_late - self.grace * HOUR) / DAY))
        return max(0.0, score) * min(self.per_day * days, self.most)


@dataclass(frozen=True)
class LateSubmission:
    """A late submission's delay in seconds and penalty, None until it has been read completely."""

    student: str
    seconds: float
    penalty: float | None


def apply_penalties(course, assignment, policy):
    """Set the penalties of all submissions of a set, and return the late ones.

    An extension, which nbgrader stores with the submission, moves the due date. A submission that
    has not been read completely gets no penalty yet. Raises ValueError if the gradebook does not
    have the set.
    """
    late = []
    standings = read_standings(course, assignment)
    with open_gradebook(course) as gradebook:
        update_due_date(gradebook, course, assignment)
        for submission in gradebook.assignment_submissions(assignment):
            seconds = submission.total_seconds_late
            is_read = standings[submission.student_id].state == GRADED
            [notebook] = submission.notebooks
            penalty = policy.penalty(notebook.score, seconds) if is_read else None
            notebook.late_submission_penalty = penalty or None
            if seconds:
                late.append(LateSubmission(submission.student_id, seconds, penalty))
        gradebook.db.commit()
    return sorted(late, key=lambda submission: submission.student)
