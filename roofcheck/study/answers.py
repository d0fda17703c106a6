"""The student's own file: which questions were answered, when, and how well.

Each answer is a line of JSON in ``~/.roofkit/answers.jsonl``, or in the file that the environment
variable ROOFKIT_ANSWERS names; where that is set to nothing, nothing is kept. The file is the
student's: nobody collects it, and it can be read, edited and deleted at any time.
"""

import inspect
import json
import os
import textwrap
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from roofcheck.sentences import sentence

FILE_VARIABLE = "ROOFKIT_ANSWERS"
# A function is kept with its code: the longest schedules of the puzzles take 3,000 characters.
LONGEST = 6_000


@dataclass(frozen=True)
class KeptAnswer:
    """One answer: when, to which question, the share of the points, and what was written.

    ``again`` counts the reviews of that question up to this one; 0 is an answer in a notebook.
    ``said`` is what the check said, ``me`` whose figures the question had, if they were someone's.
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
    """Where answers are kept, or None."""
    named = os.environ.get(FILE_VARIABLE)
    if named == "":
        return None
    return Path(named or Path.home() / ".roofkit" / "answers.jsonl")


def keep_answer(question_id, verdict, answer, again=0, me=""):
    """Write an answer down, unless the latest of its question is the same.

    Returns what to say if it could not be written, else "".
    """
    if verdict.state not in ("right", "partly", "wrong"):
        return ""
    written = _answer_as_text(answer)
    made = KeptAnswer(
        datetime.now().astimezone(), question_id, verdict.credit, written, verdict.slips, again,
        said=verdict.message, me=me,
    )  # fmt: skip
    try:
        if (file := file_path()) is None:
            return ""
        latest = [each for each in read_answers()[0] if each.question == question_id][-1:]
        if [(each.answer, each.again, each.me) for each in latest] == [(written, again, me)]:
            return ""
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as out:
            # One write, so that two notebooks at once do not mix their lines.
            out.write(json.dumps(asdict(made), default=str, ensure_ascii=False) + "\n")
    except (OSError, RuntimeError) as error:
        # RuntimeError: this user has no home folder.
        return sentence("grade.not-kept", error=error)
    return ""


def _answer_as_text(answer):
    """An answer as text: a function by its code."""
    try:
        return _shorten(textwrap.dedent(inspect.getsource(answer)).strip())
    except Exception:  # anything but a function of the notebook
        pass
    try:
        return _shorten(repr(answer))
    except Exception:
        return type(answer).__name__


def _shorten(text):
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]} …"


def read_answers():
    """Every answer kept, oldest first, and how many lines could not be read."""
    file = file_path()
    if file is None or not file.is_file():
        return [], 0
    found, unreadable = [], 0
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
            record["time"] = datetime.fromisoformat(record["time"]).astimezone()
            record["slips"] = tuple(record["slips"])
            found.append(KeptAnswer(**record))
        except (ValueError, TypeError, KeyError):
            unreadable += 1
    return sorted(found, key=lambda each: each.time), unreadable
