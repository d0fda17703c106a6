"""Judges replies from a student's process against the question tables."""

import hashlib
import hmac
from dataclasses import replace

from roofcheck.cells import QuestionCall
from roofcheck.kinds import Puzzle, Verdict
from roofcheck.kinds.question import choose_lower_verdict
from roofcheck.sentences import sentence as check_sentence
from roofcheck.showing.explanation import format_answer
from roofcheck.study.check import AS_WRITTEN, judge_answer, judge_without_output
from roofcheck.tables.catalogue import find_question
from roofcheck.tables.variants import is_id_missing, normalise_id
from roofgrade.common.sentences import replace_surrogates, sentence
from roofgrade.judge import reply_values

LONGEST_MESSAGE = 5_000
LONGEST_VALUE = 1_000


def make_seed(secret: str, question: str) -> str:
    """Return the seed of the cases that test a student's answer to a question."""
    return hmac.new(secret.encode(), question.encode(), hashlib.sha256).hexdigest()


def judge_reply(check: QuestionCall, reply, seed: str, student: str) -> Verdict:
    """Judge the reply to a check's probe: as at home, or lower if drawn cases fail.

    A question with individual figures uses those of ``student``, the submission's id. A notebook
    that names someone else gets no points for it. Raises ProcessEndedError for an invalid reply,
    and ValueError for an unknown question.
    """
    if not isinstance(reply, dict):
        raise reply_values.make_nonsense_error()
    question = find_question(check.question)
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
        verdict = judge_without_output(_judge_programs, question, replies, seed)
    else:
        names = [reply_values.to_one_line(name, 80) for name in names[:20]]
        replay = reply_values.ReplayedFunction(replies, names)
        answer = reply_values.read_value(reply.get("value"), replay)
        if other := find_other_author(check, reply, student):
            return Verdict(0, sentence("judge.not_you", said=other, student=student), "wrong")
        me = student if check.me else AS_WRITTEN
        _, verdict = judge_answer(check.question, answer, me, seed)
    if warning := reply_values.to_one_line(reply.get("said")):
        verdict = verdict.with_sentence(check_sentence("grade.warned", warning=warning))
    # The message may quote arbitrarily long text from the reply.
    return replace(verdict, message=replace_surrogates(verdict.message[:LONGEST_MESSAGE]))


def _judge_programs(question, programs, seed):
    public = len(question.cases)
    verdict = question.judge_programs(programs[:public])
    drawn_verdict = question.with_case_seed(seed).judge_programs(programs[public:])
    return choose_lower_verdict(verdict, drawn_verdict)


def format_value(question, reply) -> str:
    """Return the value of a reply as printable text, or "" if there is none."""
    value = reply.get("value") if isinstance(reply, dict) else None
    if reply_values.read_kind(value) in (None, "raised"):
        return ""
    try:
        text = format_answer(question, reply_values.read_value(value))
    except Exception:  # A forged object may have no text. A schedule is judged by its calls.
        return ""
    return replace_surrogates("".join(sign for sign in text[:LONGEST_VALUE] if sign.isprintable()))


def find_other_author(check: QuestionCall, reply, student: str) -> str:
    """Return the author that a reply names, as printable text, or "" if it is ``student``."""
    value = reply.get("me") if check.me and isinstance(reply, dict) else None
    if reply_values.read_kind(value) in (None, "raised"):
        return ""
    author = reply_values.read_value(value)
    if is_id_missing(author):
        return ""
    if isinstance(author, str) and normalise_id(author) == normalise_id(student):
        return ""
    text = repr(author)
    if isinstance(author, reply_values.UnknownValue):
        text = f"{type(author).__name__} {text!r}"
    return reply_values.to_one_line(text, 80)
