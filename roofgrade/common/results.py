"""What became of one submission: graded, refused, or waiting for a person."""

import json
from dataclasses import asdict, dataclass, field

GRADED, REFUSED, WAITING = "graded", "refused", "person"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One check: what the student's process replied, as plain data, and what was made of it.

    ``asked`` is the probe that got the reply, so that it can be judged anew without running student
    code. ``credit`` is the share of ``points``; ``slips`` are the names of those recognised. Of the
    calls in the reply the first ``shared`` are those that every answer to the question meets.
    ``given`` is the value that was judged, as a reader sees it.
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
    """What became of one submission, with all that is needed to save it.

    ``folder`` is the path as it came in, below ``submitted/``. ``reason`` says to the student why
    it was refused, or to the instructor why a person is needed; ``remarks`` what was mended or
    noticed. ``notebook`` is the graded one as JSON, empty where refused. ``answers`` go by grade
    id; ``reading`` names the paragraphs that a person has to look for elsewhere, ``flagged`` the
    graded cells that ``reason`` is about: it stands until a person has scored each of them. ``key``
    is the hash of all that the result follows from: files, release, grader. ``gone`` says that the
    student's process ended for no known reason, so that the next run tries once more. ``alike``
    are the other students who named the same ``me``: ``judge.alike`` says what follows from it.
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
        """The result as JSON text, on one line."""
        return json.dumps(asdict(self), ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> "Result":
        """The result that ``to_json`` wrote. Raises ValueError for anything else."""
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
            raise ValueError(f"this is no result of grading: {error}") from None
