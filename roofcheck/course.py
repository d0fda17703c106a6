"""A notebook's course: its folder, its lectures and problem sets, and the teacher's settings.

``course/en/index.json`` lists the lectures and problem sets; ``make build`` writes it.
``course/term.toml`` contains the teacher's settings, such as due dates and where to hand in.
"""

import contextlib
import json
import os
import tomllib
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path

from roofcheck.sentences import sentence

COURSE_VARIABLE = "ROOFLINE_COURSE"
INDEX, TERM = Path("course/en/index.json"), Path("course/term.toml")


@dataclass(frozen=True)
class Lecture:
    """A lecture in the index.

    ``file`` is the path relative to the course folder. ``asks`` lists the ids of the questions that
    the lecture's core checks, and ``minutes`` is how long the core takes. ``deeper_asks`` and
    ``deeper_minutes`` are the same for the sections below the core.
    """

    id: str
    file: str
    number: int
    title: str
    about: str
    minutes: int
    asks: tuple[str, ...]
    deeper_minutes: int
    deeper_asks: tuple[str, ...]


@dataclass(frozen=True)
class Lesson:
    """A lecture cell that teaches the topic of a question, and the cell's heading."""

    lecture: str
    cell: str
    heading: str


@dataclass(frozen=True)
class SetQuestion:
    """A question of a problem set in the index.

    ``id`` is the question's id or, for a ``paragraph`` (which a person grades), the cell's id.
    ``text`` is the id of the cell with the heading, and ``cell`` that of the graded cell.
    ``lecture`` is the lecture to read first. ``lesson`` teaches the topic, or is None.
    """

    id: str
    number: int
    title: str
    points: float
    text: str
    cell: str
    paragraph: bool
    lecture: str
    lesson: Lesson | None


@dataclass(frozen=True)
class ProblemSet:
    """A problem set in the index; ``lectures`` lists the ids of the lectures that it covers."""

    id: str
    file: str
    number: int
    title: str
    minutes: int
    points: float
    lectures: tuple[str, ...]
    questions: tuple[SetQuestion, ...]


@dataclass(frozen=True)
class Term:
    """A teacher's settings for a term, or the defaults if there is no term.toml.

    ``due`` maps set ids to due times with a time zone. ``upload`` says where to upload files,
    by set id, or "" for all other sets. ``site`` is the URL of the published pages, and ``ids`` is
    the file of known ids. ``own_figures`` lists the sets whose number questions have different
    numbers for each student.
    """

    due: dict[str, datetime] = field(default_factory=dict)
    upload: dict[str, str] = field(default_factory=dict)
    site: str = ""
    ids: Path | None = None
    own_figures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Course:
    """A course in the folder ``root``."""

    root: Path

    @cached_property
    def _index(self):
        return json.loads((self.root / INDEX).read_text(encoding="utf-8"))

    @cached_property
    def lectures(self) -> tuple[Lecture, ...]:
        """Every lecture, in order."""
        return tuple(
            Lecture(**record | {key: tuple(record[key]) for key in ("asks", "deeper_asks")})
            for record in self._index["lectures"]
        )

    @cached_property
    def sets(self) -> tuple[ProblemSet, ...]:
        """Every problem set, in order."""
        return tuple(
            ProblemSet(**record | {
                "lectures": tuple(record["lectures"]),
                "questions": tuple(map(_read_set_question, record["questions"])),
            })
            for record in self._index["sets"]
        )  # fmt: skip

    def set(self, name: str) -> ProblemSet:
        """Return the problem set with this id, such as "ps1". A ValueError lists the known ids."""
        for problem_set in self.sets:
            if problem_set.id == name:
                return problem_set
        known = ", ".join(problem_set.id for problem_set in self.sets)
        raise ValueError(sentence("course.no-set", name=repr(name), known=known))

    @cached_property
    def term(self) -> Term:
        """The teacher's settings. A ValueError names the file and the invalid setting."""
        path = self.root / TERM
        if not path.is_file():
            return Term()
        try:
            settings = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path}: {error}") from None
        if unknown := set(settings) - {"due", "upload", "site", "ids", "own_figures"}:
            raise ValueError(sentence("course.unknown", file=path, setting=min(unknown)))
        due, upload = settings.get("due", {}), settings.get("upload", {})
        upload = upload if isinstance(upload, dict) else {"": upload}
        for name, moment in due.items():
            if not isinstance(moment, datetime):
                raise ValueError(sentence("course.no-time", file=path, name=name, given=moment))
        return Term(
            due={self.set(name).id: moment.astimezone() for name, moment in due.items()},
            upload={name and self.set(name).id: str(where) for name, where in upload.items()},
            site=str(settings.get("site", "")).rstrip("/"),
            ids=self.root / settings["ids"] if settings.get("ids") else None,
            own_figures=tuple(self.set(name).id for name in settings.get("own_figures", ())),
        )


def find_course(start: Path | None = None) -> Course | None:
    """Return the course that contains a folder (by default the working directory), or None.

    The environment variable ROOFLINE_COURSE sets the course folder. By default, it is the nearest
    folder with the index, from ``start`` upward. Raises ValueError if the variable names another.
    """
    if path := os.environ.get(COURSE_VARIABLE):
        if not (Path(path) / INDEX).is_file():
            raise ValueError(
                sentence("course.no-folder", name=COURSE_VARIABLE, folder=path, index=INDEX)
            )
        return Course(Path(path))
    # Don't resolve links: if a folder consists of links, the course is where the links are.
    place = Path(os.path.abspath(start or Path.cwd()))
    for folder in (place, *place.parents):
        if (folder / INDEX).is_file():
            return Course(folder)
    return None


def find_term() -> Term:
    """Return the settings of this folder's course, or the defaults if they can't be read."""
    with contextlib.suppress(ValueError, OSError):
        if course := find_course():
            return course.term
    return Term()


def _read_set_question(record):
    lesson = Lesson(**record["lesson"]) if record.get("lesson") else None
    return SetQuestion(**{"lecture": ""} | record | {"lesson": lesson})
