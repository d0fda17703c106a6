"""The student's own file of answers: questions, times and credits.

Each answer is a line of JSON in ``~/.roofkit/answers.jsonl``, or in the file named by the
environment variable ROOFKIT_ANSWERS; if that is empty, no answers are saved. The file belongs to
the student: nobody collects it, and the student can edit or delete it at any time.
"""

import contextlib
import inspect
import json
import os
import textwrap
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from roofcheck.running.time_limit import TimeLimit
from roofcheck.sentences import sentence

FILE_VARIABLE = "ROOFKIT_ANSWERS"
# Functions are saved as code, and the longest schedules for puzzles have 3,000 characters.
LONGEST = 6_000


@dataclass(frozen=True)
class KeptAnswer:
    """One answer to a question, with its time and its share of the points.

    ``again`` is the number of the question's reviews so far, or 0 for an answer in a notebook.
    ``said`` is the check's message. ``me`` is the student whose variant was asked, or "".
    """

    time: datetime
    question: str
    credit: float
    answer: str
    slips: tuple[str, ...] = ()
    again: int = 0
    said: str = ""
    me: str = ""


def file_path():
    """Return the path of the answers file, or None if no answers are saved."""
    path = os.environ.get(FILE_VARIABLE)
    if path == "":
        return None
    return Path(path or Path.home() / ".roofkit" / "answers.jsonl")


def keep_answer(question_id, verdict, answer, again=0, me=""):
    """Append an answer to the file, unless the question's latest answer is the same.

    Returns "", or a sentence if the file could not be written.
    """
    if verdict.state not in ("right", "partly", "wrong"):
        return ""
    text = _answer_as_text(answer)
    new = KeptAnswer(
        datetime.now().astimezone(), question_id, verdict.credit, text, verdict.slips, again,
        said=verdict.message, me=me,
    )  # fmt: skip
    try:
        if (file := file_path()) is None:
            return ""
        latest = [kept for kept in read_answers()[0] if kept.question == question_id][-1:]
        if [(kept.answer, kept.again, kept.me) for kept in latest] == [(text, again, me)]:
            return ""
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as out:
            # A single write keeps lines from two notebooks apart.
            out.write(json.dumps(asdict(new), default=str, ensure_ascii=False) + "\n")
    except (OSError, RuntimeError) as error:
        # RuntimeError: this user has no home folder.
        return sentence("grade.not-kept", error=error)
    return ""


def _answer_as_text(answer):
    # Without source code, it is not a function defined in the notebook.
    for write in (lambda: textwrap.dedent(inspect.getsource(answer)).strip(), lambda: repr(answer)):
        with contextlib.suppress(Exception):
            text = TimeLimit().call(write)
            return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]} …"
    return type(answer).__name__


def read_answers():
    """Return all saved answers, oldest first, and the number of unreadable lines."""
    file = file_path()
    if file is None or not file.is_file():
        return [], 0
    kept, unreadable = [], 0
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
            record["time"] = datetime.fromisoformat(record["time"]).astimezone()
            record["slips"] = tuple(record["slips"])
            kept.append(KeptAnswer(**record))
        except (ValueError, TypeError, KeyError):
            unreadable += 1
    return sorted(kept, key=lambda answer: answer.time), unreadable
