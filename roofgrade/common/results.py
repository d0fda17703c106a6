"""The result of one submission: graded, refused, or waiting for a person."""

import json
from dataclasses import asdict, dataclass, field

GRADED, REFUSED, WAITING = "graded", "refused", "person"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The reply of the student's process to one check, and its judgement.

    ``asked`` is the probe, so that the reply can be judged anew without running student code.
    ``credit`` is the share of ``points``, ``slips`` the names of the recognised mistakes. The first
    ``shared`` calls are the same for every student. ``given`` is the value as a reader sees it.
    """

    question: str
    asked: dict
    reply: dict | None
    credit: float
    points: float
    state: str
    message: str
    slips: tuple[str, ...] = ()
    shared: int = 0
    given: str = ""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of one submission, with everything needed to save it.

    ``folder`` is its path below ``submitted/``. ``reason`` tells the student why it was refused, or
    the instructor why a person is needed, and ``remarks`` what was repaired or noticed.
    ``notebook`` is the graded one as JSON, or "" if it was refused. ``answers`` go by grade id.
    ``reading`` names the paragraphs whose text is elsewhere, ``flagged`` the cells that a person
    has to score to settle ``reason``. ``key`` is the hash of everything the result depends on:
    files, release, grader. ``gone`` means that the process ended for no known reason, so the next
    run tries again. ``alike`` are the other students who named the same ``me``.
    """

    student: str
    assignment: str
    folder: str
    state: str
    reason: str = ""
    remarks: tuple[str, ...] = ()
    notebook: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    reading: tuple[str, ...] = ()
    flagged: tuple[str, ...] = ()
    submitted: str = ""
    key: str = ""
    sandboxed: bool = True
    gone: bool = False
    alike: tuple[str, ...] = ()
    seconds: float = 0.0

    def to_json(self) -> str:
        """Return the result as JSON text, on one line."""
        return json.dumps(asdict(self), ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> "Result":
        """Return the result that ``to_json`` wrote. Raises ValueError for anything else."""
        try:
            plain = json.loads(text)
            answers = {
                name: Answer(**answer | {"slips": tuple(answer["slips"])})
                for name, answer in plain.pop("answers").items()
            }
            for name in ("remarks", "reading", "flagged", "alike"):
                plain[name] = tuple(plain.get(name, ()))
            return cls(answers=answers, **plain)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is not a grading result: {error}") from None
