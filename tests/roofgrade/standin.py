"""A course and a class in a temporary folder, graded by the cheap marking of ``marks``."""

import atexit
import functools
import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import sqlalchemy as sa
from homework import make_course
from marks import NoBox, graded, mark

from roofgrade.common.results import GRADED, Result
from roofgrade.course import Course
from roofgrade.gradebook.writer import GradebookWriter
from roofgrade.run.grading_run import grade_assignment

SET = "ps1"
PARAGRAPH = f"{SET}-paragraph"
# What changes from run to run, and from machine to machine.
PASSING = {"id", "timestamp"}


@functools.cache
def registered():
    """A course whose gradebook knows the set: made once, for that takes seconds."""
    folder = make_course(Path(tempfile.mkdtemp(prefix="registered-")))
    atexit.register(shutil.rmtree, folder)
    with GradebookWriter(Course(folder), SET):
        pass
    return folder


def new_course(folder):
    """A Course whose gradebook knows the set, in a new folder."""
    shutil.copytree(registered(), folder)
    (folder / "submitted").mkdir()
    return Course(folder)


def hand_in(course, student, answer="1", paragraph="It is bound by its bytes.", **beside):
    """A student's folder: every answer cell holds ``answer``, and other files lie beside it."""
    folder = course.submitted / student / SET
    folder.mkdir(parents=True, exist_ok=True)
    plain = json.loads(course.release_path(SET).read_text(encoding="utf-8"))
    for cell in plain["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            cell["source"] = paragraph if cell["id"] == PARAGRAPH else f"x = {answer}"
    (folder / f"{SET}.ipynb").write_text(json.dumps(plain), encoding="utf-8")
    for name, content in beside.items():
        (folder / name.replace("_", " ")).write_text(str(content), encoding="utf-8")
    return folder


def grade_with(course, **options):
    """Run grading with this marking."""
    return grade_assignment(
        course, SET, bench=(mark, NoBox), progress=False, **{"workers": 2} | options
    )


def result_of(course, student, answer="1", **fields):
    """What this marking makes of a submission, without a run."""
    folder = hand_in(course, student, answer)
    with GradebookWriter(course, SET) as writer:
        master = writer.release_json
    marked, answers = graded(master, (folder / f"{SET}.ipynb").read_bytes().decode())
    named = {"student": student, "assignment": SET, "folder": f"{student}/{SET}"}
    return Result(**named, **{"state": GRADED, "notebook": marked, "answers": answers} | fields)


def contents(url):
    """Every table of a gradebook as rows in no order, without what changes from run to run.

    Ids are drawn by chance; where they point to another table, the names there stand for them.
    """
    engine = sa.create_engine(url)
    meta = sa.MetaData()
    meta.reflect(engine)
    with engine.connect() as connection:
        rows = {
            table.name: [dict(row) for row in connection.execute(sa.select(table)).mappings()]
            for table in meta.sorted_tables
        }
    engine.dispose()
    return _named(meta, rows)


def autograded(course):
    """Every file in ``autograded/``: its path, its mode, its bytes."""
    return {
        path.relative_to(course.autograded).as_posix(): (path.stat().st_mode, path.read_bytes())
        for path in course.autograded.rglob("*")
        if path.is_file()
    }


def _named(meta, rows):
    names = {}
    for table in meta.sorted_tables:  # tables that others point to come first
        for row in rows[table.name]:
            for column in table.columns:
                for key in column.foreign_keys:
                    row[column.name] = names.get((key.column.table.name, row[column.name]))
            own = {name: value for name, value in row.items() if name not in PASSING}
            names[table.name, row.get("id")] = repr(sorted(own.items(), key=str))
    saved = {
        row["id"]: names["submitted_assignment", row["id"]] for row in rows["submitted_assignment"]
    }
    for row in rows["roofkit_notes"]:
        kind, _, about = row["name"].partition(" ")
        row["name"] = kind, saved.get(about, about)
    return {
        table: Counter(
            repr(sorted((name, value) for name, value in row.items() if name not in PASSING))
            for row in found
        )
        for table, found in rows.items()
    }
