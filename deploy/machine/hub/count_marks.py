"""Print the address of a course's gradebook and the number of its sets and submissions, as JSON.

    python count_marks.py ~prof/roofline/teaching

It runs with the teacher's permissions, and doesn't create a gradebook.
"""

import json
import sys
from pathlib import Path

from nbgrader.api import Gradebook, SubmittedAssignment
from sqlalchemy.engine import make_url

from roofgrade.course import Course


def count_marks(folder):
    course = Course(folder)
    url = make_url(course.db_url)
    counts = {"gradebook": url.get_backend_name(), "sets": 0, "submissions": 0}
    if url.get_backend_name() == "sqlite" and not (folder / url.database).exists():
        return counts
    with Gradebook(course.db_url, course.directory.course_id) as gradebook:
        counts["sets"] = len(gradebook.assignments)
        counts["submissions"] = gradebook.db.query(SubmittedAssignment).count()
    return counts


if __name__ == "__main__":
    try:
        print(json.dumps(count_marks(Path(sys.argv[1]))))
    except Exception as error:  # a database's own reason is inside SQLAlchemy's
        sys.exit(" ".join(str(getattr(error, "orig", error)).split()))
