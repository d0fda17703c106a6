"""The result of one submission: graded, refused, or waiting for a person."""

import json
from dataclasses import asdict, dataclass, field

GRADED, REFUSED, WAITING = "graded", "refused", "person"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The reply of the student's process to one check, and its verdict.

    ``asked`` is the probe, which is needed to judge the reply again without running student code.
    ``credit`` is the share of ``points`` earned, and ``slips`` names the recognised mistakes. The
    first ``shared`` calls are the same for all students. ``given`` is the value in printable form.
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
    """The result of one submission, with all the data needed to save it.

    ``folder`` is the submission's path below ``submitted/``. ``reason`` tells the student why it
    was refused, or the instructor why a person is needed. ``remarks`` lists repairs and
    observations. ``notebook`` is the graded notebook as JSON, or "" if it was refused. ``answers``
    maps grade ids to answers. ``reading`` names paragraphs that the student wrote elsewhere, and
    ``flagged`` the cells that a person must score to settle ``reason``. ``key`` is a hash of the
    files, the release and the grader. ``gone`` means that the process ended for an unknown reason,
    so the next run tries again. ``alike`` lists other students who named the same ``me``.
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
