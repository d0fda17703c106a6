"""What handing in late costs: a share of the points a day, after some hours of grace.

nbgrader takes a penalty when it grades, before anybody has read the paragraphs. ``apply_penalties`` takes it
from the whole score once all is read, and takes it anew whenever marks have changed. For nbgrader's
own autograde, ``SharePerDay`` follows the same policy.
"""

import math
from dataclasses import dataclass

from nbgrader.api import Gradebook
from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Float

from roofgrade.common.results import GRADED
from roofgrade.common.sentences import sentence
from roofgrade.gradebook.standings import read_standings

HOUR, DAY = 3_600, 86_400


@dataclass(frozen=True)
class LatePolicy:
    """The share of the score that each day begun costs, after ``grace`` hours, at ``most``.

    Raises ValueError for a share outside 0 to 1 and for hours below 0.
    """

    per_day: float
    grace: float = 0.0
    most: float = 1.0

    def __post_init__(self):
        for name in ("per_day", "most"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(sentence("late.no_share", name=name, value=getattr(self, name)))
        if not 0 <= self.grace < math.inf:
            raise ValueError(sentence("late.no_hours", value=self.grace))

    def penalty(self, score, seconds_late):
        """The points that so much delay costs: never more than the score.

        >>> LatePolicy(per_day=0.1, grace=2).penalty(20, 26 * HOUR)
        2.0
        >>> LatePolicy(per_day=0.1, grace=2).penalty(20, 26 * HOUR + 1)
        4.0
        """
        days = max(0, math.ceil((seconds_late - self.grace * HOUR) / DAY))
        return max(0.0, score) * min(self.per_day * days, self.most)


@dataclass(frozen=True)
class LateSubmission:
    """One submission that came late: by how many seconds, and what that costs.

    ``penalty`` is None until all of it has been read.
    """

    student: str
    seconds: float
    penalty: float | None


def apply_penalties(course, assignment, policy):
    """Set each penalty by the policy, and take back what no longer holds. Returns the Late ones.

    An extension, as nbgrader stores it with the submission, moves the date. Whoever waits for a
    person gets no penalty yet. Raises ValueError if the gradebook does not know the set.
    """
    late = []
    standing = read_standings(course, assignment)
    with Gradebook(course.db_url) as gradebook:
        for submission in gradebook.assignment_submissions(assignment):
            seconds = submission.total_seconds_late
            done = standing[submission.student_id].state == GRADED
            penalties = [
                policy.penalty(notebook.score, seconds) if done else None
                for notebook in submission.notebooks
            ]
            for notebook, penalty in zip(submission.notebooks, penalties, strict=True):
                notebook.late_submission_penalty = penalty or None
            if seconds:
                total = sum(penalties) if done else None
                late.append(LateSubmission(submission.student_id, seconds, total))
        gradebook.db.commit()
    return sorted(late, key=lambda one: one.student)


class SharePerDay(LateSubmissionPlugin):
    """The same policy where nbgrader grades:

    c.AssignLatePenalties.plugin_class = "roofgrade.regrade_export.late.SharePerDay"
    """

    per_day = Float(0.1, help="The share of the score that each day begun costs.").tag(config=True)
    grace = Float(0.0, help="Hours that cost nothing.").tag(config=True)
    most = Float(1.0, help="The largest share.").tag(config=True)

    def late_submission_penalty(self, student_id, score, total_seconds_late):
        """The points to take from one notebook."""
        return LatePolicy(self.per_day, self.grace, self.most).penalty(score, total_seconds_late)
