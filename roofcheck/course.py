"""The course around a notebook: its folder, what it holds, and what a teacher set for a term.

``course/en/index.json`` lists lectures and problem sets; ``make build`` writes it.
``course/term.toml`` holds what a teacher sets: dates, and where work is handed in.
"""

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
    """A lecture, as the index has it.

    ``file`` is its path from the course's folder; ``asks`` and ``guesses`` are the ids of the
    questions that it checks and that it has guessed.
    """

    id: str
    file: str
    number: int
    title: str
    about: str
    minutes: int
    asks: tuple[str, ...]
    guesses: tuple[str, ...]


@dataclass(frozen=True)
class Lesson:
    """The cell of a lecture that teaches something, and the heading that it stands under."""

    lecture: str
    cell: str
    heading: str


@dataclass(frozen=True)
class SetQuestion:
    """A question of a problem set, as the index has it.

    ``id`` is the question's, or for a paragraph that a person reads its cell's; ``text`` is the
    cell with its heading, ``cell`` the one that is graded; ``lecture`` opens it, and ``lesson``
    teaches what it asks, where that is known.
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
    """A problem set, as the index has it; ``lectures`` are the ids of those that it is on."""

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
    """What a teacher set; without a term.toml, nothing.

    ``due`` holds a time with its zone for each set that has one, ``upload`` says where files are
    handed in, ``site`` is the address of the published pages, ``ids`` the file of known ids.
    ``own_figures`` are the sets whose questions of numbers have figures of each student's own.
    """

    due: dict[str, datetime] = field(default_factory=dict)
    upload: str = ""
    site: str = ""
    ids: Path | None = None
    own_figures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Course:
    """The folder of a course."""

    root: Path

    @cached_property
    def _index(self):
        return json.loads((self.root / INDEX).read_text(encoding="utf-8"))

    @cached_property
    def lectures(self) -> tuple[Lecture, ...]:
        """Every lecture, in order."""
        return tuple(
            Lecture(**found | {key: tuple(found[key]) for key in ("asks", "guesses")})
            for found in self._index["lectures"]
        )

    @cached_property
    def sets(self) -> tuple[ProblemSet, ...]:
        """Every problem set, in order."""
        return tuple(
            ProblemSet(**found | {
                "lectures": tuple(found["lectures"]),
                "questions": tuple(map(_read_set_question, found["questions"])),
            })
            for found in self._index["sets"]
        )  # fmt: skip

    def set(self, name: str) -> ProblemSet:
        """The problem set of this id, such as "ps1"; ValueError with those there are."""
        for found in self.sets:
            if found.id == name:
                return found
        known = ", ".join(each.id for each in self.sets)
        raise ValueError(sentence("course.no-set", name=repr(name), known=known))

    @cached_property
    def term(self) -> Term:
        """What the teacher set. ValueError with the file and the place for what cannot be read."""
        path = self.root / TERM
        if not path.is_file():
            return Term()
        try:
            given = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path}: {error}") from None
        if unknown := set(given) - {"due", "upload", "site", "ids", "own_figures"}:
            raise ValueError(sentence("course.unknown", file=path, setting=min(unknown)))
        due = given.get("due", {})
        for name, moment in due.items():
            if not isinstance(moment, datetime):
                raise ValueError(sentence("course.no-time", file=path, name=name, given=moment))
        return Term(
            due={self.set(name).id: moment.astimezone() for name, moment in due.items()},
            upload=str(given.get("upload", "")),
            site=str(given.get("site", "")).rstrip("/"),
            ids=self.root / given["ids"] if given.get("ids") else None,
            own_figures=tuple(self.set(name).id for name in given.get("own_figures", ())),
        )


def find_course(start: Path | None = None) -> Course | None:
    """The course to which a place belongs, by default the working directory; None outside one.

    The environment variable ROOFLINE_COURSE names its folder, or else it is the nearest folder
    above that holds the index.
    """
    if named := os.environ.get(COURSE_VARIABLE):
        if not (Path(named) / INDEX).is_file():
            raise ValueError(
                sentence("course.no-folder", name=COURSE_VARIABLE, folder=named, index=INDEX)
            )
        return Course(Path(named))
    # Not resolved: in a folder of links the course is where the links are.
    place = Path(os.path.abspath(start or Path.cwd()))
    for folder in (place, *place.parents):
        if (folder / INDEX).is_file():
            return Course(folder)
    return None


def _read_set_question(found):
    lesson = found.get("lesson")
    return SetQuestion(
        **found | {
            "lesson": Lesson(**lesson) if lesson else None,
            "lecture": found.get("lecture", ""),
        }
    )  # fmt: skip
