"""Points and a message for what a student's process replied, by the question tables."""

import hashlib
import hmac
from dataclasses import replace

from roofcheck.cells import QuestionCall
from roofcheck.kinds import Puzzle, Verdict
from roofcheck.kinds.question import lower_verdict
from roofcheck.sentences import sentence as check_sentence
from roofcheck.showing.explanation import format_answer
from roofcheck.study.check import AS_WRITTEN, judge_answer, judge_quietly
from roofcheck.tables.catalogue import find_question
from roofcheck.tables.variants import is_nobody, normalise_id
from roofgrade.common.errors import ProcessEndedError
from roofgrade.common.sentences import replace_surrogates, sentence
from roofgrade.judge import reply_values

LONGEST_MESSAGE = 5_000
LONGEST_VALUE = 1_000


def make_seed(secret: str, question: str) -> str:
    """The seed of the cases that one student's answer to one question is tried on."""
    return hmac.new(secret.encode(), question.encode(), hashlib.sha256).hexdigest()


def judge_reply(asked: QuestionCall, reply, seed: str, student: str) -> Verdict:
    """The Verdict that the student would have got at home, or where it counts a lower one.

    ``reply`` is what came for the check's probe. A question with figures of one's own is judged by
    those of ``student``, the id of whoever handed in; a notebook that names somebody else gets
    nothing for it. Raises EndedError if the reply makes no sense, and ValueError for an unknown
    question.
    """
    if not isinstance(reply, dict):
        raise reply_values.make_nonsense_error()
    question = find_question(asked.question)
    if reply_values.read_kind(reply.get("value")) == "raised":
        error = reply_values.read_error(reply["value"])
        missing = type(error).__name__ == "NameError"
        text = check_sentence("unread.raised", error=f"{type(error).__name__}: {error}")
        return Verdict(0, text, "missing" if missing else "wrong")
    replies = reply.get("calls") or []
    names = reply.get("names") or []
    if not (isinstance(replies, list) and isinstance(names, list)):
        raise reply_values.make_nonsense_error()
    if isinstance(question, Puzzle) and replies:
        verdict = judge_quietly(_judge_programs, question, replies, seed)
    else:
        replay = reply_values.ReplayedFunction(
            replies, [reply_values.to_one_line(name, 80) for name in names[:20]]
        )
        answer = reply_values.read_value(reply.get("value"), replay)
        if other := find_other_author(asked, reply, student):
            return Verdict(0, sentence("judge.not_you", said=other, student=student), "wrong")
        me = student if asked.me else AS_WRITTEN
        _, verdict = judge_answer(asked.question, answer, me, seed)
    if said := reply_values.to_one_line(reply.get("said")):
        verdict = verdict.with_sentence(check_sentence("grade.warned", warning=said))
    # A message quotes what came, which may be text without end.
    return replace(verdict, message=replace_surrogates(verdict.message[:LONGEST_MESSAGE]))


def _judge_programs(question, programs, seed):
    drawn = question.with_cases(seed)
    public = len(question.cases)
    return lower_verdict(
        question.judge_programs(programs[:public]), drawn.judge_programs(programs[public:])
    )


def format_value(question, reply) -> str:
    """The value of a reply as a reader sees it, as text that can be shown; "" without any."""
    told = reply.get("value") if isinstance(reply, dict) else None
    if reply_values.read_kind(told) in (None, "raised"):
        return ""
    try:
        text = format_answer(question, reply_values.read_value(told))
    except ProcessEndedError:  # a schedule is judged by what it does, whatever else was sent
        return ""
    return replace_surrogates("".join(sign for sign in text[:LONGEST_VALUE] if sign.isprintable()))


def find_other_author(asked: QuestionCall, reply, student: str) -> str:
    """Whom a reply names as its author, as text that can be shown; "" if nobody but ``student``."""
    told = reply.get("me") if asked.me and isinstance(reply, dict) else None
    if reply_values.read_kind(told) in (None, "raised"):
        return ""
    said = reply_values.read_value(told)
    if is_nobody(said) or (isinstance(said, str) and normalise_id(said) == normalise_id(student)):
        return ""
    text = repr(said)
    if isinstance(said, reply_values.UnknownValue):
        text = f"{type(said).__name__} {text!r}"
    return reply_values.to_one_line(text, 80)
