"""Points and a message for what a student's process replied, by the question tables."""

import hashlib
import hmac
from dataclasses import replace

from roofcheck.cells import Asked
from roofcheck.kinds import Puzzle, Verdict
from roofcheck.kinds.question import lower
from roofcheck.sentences import say
from roofcheck.showing.explaining import answered
from roofcheck.study.student import WRITTEN, judged, quietly
from roofcheck.tables.table import find_question
from roofcheck.tables.variants import is_nobody, same
from roofgrade.common.errors import EndedError
from roofgrade.common.sentences import printable, words
from roofgrade.judge import values

LONGEST_MESSAGE = 5_000
LONGEST_GIVEN = 1_000


def seed_for(secret: str, question: str) -> str:
    """The seed of the cases that one student's answer to one question is tried on."""
    return hmac.new(secret.encode(), question.encode(), hashlib.sha256).hexdigest()


def judge(asked: Asked, reply, seed: str, student: str) -> Verdict:
    """The Verdict that the student would have got at home, or where it counts a lower one.

    ``reply`` is what came for the check's probe. A question with figures of one's own is judged by
    those of ``student``, the id of whoever handed in; a notebook that names somebody else gets
    nothing for it. Raises EndedError if the reply makes no sense, and ValueError for an unknown
    question.
    """
    if not isinstance(reply, dict):
        raise values.nonsense()
    question = find_question(asked.question)
    if values.kind_of(reply.get("value")) == "raised":
        error = values.error_of(reply["value"])
        missing = type(error).__name__ == "NameError"
        text = say("unread.raised", error=f"{type(error).__name__}: {error}")
        return Verdict(0, text, "missing" if missing else "wrong")
    replies = reply.get("calls") or []
    names = reply.get("names") or []
    if not (isinstance(replies, list) and isinstance(names, list)):
        raise values.nonsense()
    if isinstance(question, Puzzle) and replies:
        verdict = quietly(_judge_programs, question, replies, seed)
    else:
        replay = values.Replay(replies, [values.line(name, 80) for name in names[:20]])
        answer = values.value_of(reply.get("value"), replay)
        if other := named(asked, reply, student):
            return Verdict(0, words("judge.not_you", said=other, student=student), "wrong")
        me = student if asked.me else WRITTEN
        _, verdict = judged(asked.question, answer, me, seed)
    if said := values.line(reply.get("said")):
        verdict = verdict.adding(say("grade.warned", warning=said))
    # A message quotes what came, which may be text without end.
    return replace(verdict, message=printable(verdict.message[:LONGEST_MESSAGE]))


def _judge_programs(question, programs, seed):
    drawn = question.with_cases(seed)
    public = len(question.cases)
    return lower(
        question.judge_programs(programs[:public]), drawn.judge_programs(programs[public:])
    )


def given(question, reply) -> str:
    """The value of a reply as a reader sees it, as text that can be shown; "" without any."""
    told = reply.get("value") if isinstance(reply, dict) else None
    if values.kind_of(told) in (None, "raised"):
        return ""
    try:
        text = answered(question, values.value_of(told))
    except EndedError:  # a schedule is judged by what it does, whatever else was sent
        return ""
    return printable("".join(sign for sign in text[:LONGEST_GIVEN] if sign.isprintable()))


def named(asked: Asked, reply, student: str) -> str:
    """Whom a reply names as its author, as text that can be shown; "" if nobody but ``student``."""
    told = reply.get("me") if asked.me and isinstance(reply, dict) else None
    if values.kind_of(told) in (None, "raised"):
        return ""
    said = values.value_of(told)
    if is_nobody(said) or (isinstance(said, str) and same(said) == same(student)):
        return ""
    text = repr(said)
    if isinstance(said, values.Stand):
        text = f"{type(said).__name__} {text!r}"
    return values.line(text, 80)
