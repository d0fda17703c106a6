"""What a student's process replies is judged as the answer itself would be at home."""

import json
import random
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy
from forms import forms

import roofkit as rk
from roofcheck.cells import QuestionCall
from roofcheck.kinds import Number, Verdict
from roofcheck.study.check import AS_WRITTEN, judge_answer
from roofcheck.tables.catalogue import load_questions, questions_of_set
from roofgrade.common.errors import ProcessEndedError
from roofgrade.judge import judging, probes
from roofgrade.sandbox.inside import plain_values

pytestmark = pytest.mark.slow("an answer is judged as at home, and no reply breaks the judge")

SETS = [f"ps{number}" for number in (1, 2, 3, 4)]
NUMBERS = [name for name, question in load_questions().items() if isinstance(question, Number)]
H200 = rk.chip("H200")
ROOF = H200.roofline("bf16")
LAYER = rk.matmul(B=64, D=8192, F=8192, dtype="bf16")
B, D, F, k = sympy.symbols("B D F k")


def asked(question_id, me=None):
    return QuestionCall("check", question_id, "answer", "" if me is None else "me")


def reply_to(question_id, answer, me=None):
    """What leaves a student's process in which ``answer`` is the answer."""
    question = load_questions()[question_id]
    probe = probes.make_probe(asked(question_id, me), question, "seed")
    found = plain_values.answer_probe({"answer": answer, "me": me}, probe)
    return json.loads(json.dumps(found))


def graded(question_id, answer, me=None):
    return judging.judge_reply(
        asked(question_id, me), reply_to(question_id, answer, me), "seed", me or "ada"
    )


def at_home(question_id, answer, me=None):
    seed = "seed" if me is None else None
    return judge_answer(question_id, answer, AS_WRITTEN if me is None else me, seed)[1]


@pytest.mark.parametrize("name", NUMBERS)
def test_every_honest_form_of_a_number_counts(name):
    for answer in forms(load_questions()[name]):
        assert graded(name, answer) == at_home(name, answer), repr(answer)


class Odd:
    """Has a number, and nothing else."""

    def __float__(self):
        return 240.5


class Loud:
    def __float__(self):
        raise RuntimeError("no number today")


ODD = [
    None, ..., True, np.True_, "", " ... ", "about 240", "x" * 5000, b"240", [], [None], [...], (),
    [1, 2, 3], {"a": 1}, {1.5, 2.5}, frozenset(), {"compute"}, [[1]], [[[[1]]]], np.array([]),
    np.array(240.5), np.array([[240.5]]), np.float32(240.5), np.float16(240.5), np.int64(240),
    np.longdouble(240.5), np.nan, np.inf, -1, 0, 10**400, -(10**30), 2**62, Decimal("240.50"),
    Decimal("NaN"), Fraction(481, 2), 1 + 2j, Odd(), Loud(), object(), print, str, lambda: 1,
    (n for n in range(3)), iter("abc"), {1: 2}.keys(), range(3), H200, ROOF, LAYER,
    ROOF.estimate(LAYER), rk.Estimate(np.array([1.0]), 2.0), H200.bandwidth, H200.peak_flops(),
    rk.Cost(np.ones(3000), 2.0), np.timedelta64(5, "s"),
    sympy.Float(240.5), sympy.Rational(481, 2), sympy.oo, B, B * D / (B + D), "2*B*D*F/(B+D+F)",
    "__import__('os')", "compute", "memory-bound", "ABCD", "D, B, A, C", ["A", "B"], "\ud800", "½",
]  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_odd_answers_are_read_as_at_home(name):
    for question_id in questions_of_set(name):
        me = "ada" if question_id.endswith(".mine") else None
        for answer in ODD:
            if repr(type(answer)).find("generator") + repr(type(answer)).find("iterator") > -2:
                answer = list(answer)  # one pass is all that such a thing has
            got, home = graded(question_id, answer, me), at_home(question_id, answer, me)
            # The sandbox reads any answer as a number, and these raise.
            state = "wrong" if isinstance(answer, (Loud, np.timedelta64)) else home.state
            assert (got.credit, got.state) == (home.credit, state), repr(answer)
            assert got.slips == home.slips, repr(answer)


def roof(intensity, peak_flops, bandwidth):
    return min(peak_flops, intensity * bandwidth)


def roof_that_warns(intensity, peak_flops, bandwidth):
    warnings.warn("mind the gap", stacklevel=1)
    return min(peak_flops, intensity * bandwidth)


@pytest.mark.parametrize(
    "function",
    [
        roof, roof_that_warns, print, lambda *a: ..., lambda *a: 1 / 0,
        lambda *a: a, lambda a: a, lambda intensity, peak_flops, bandwidth: "12 TFLOP/s",
        max, len, exit, lambda *a: [1, 2], lambda *a: (_ for _ in ()).throw(SystemExit),
    ],
)  # fmt: skip
def test_a_function_is_judged_by_what_it_gave(function, capsys):
    got, home = graded("ps1.attainable", function), at_home("ps1.attainable", function)
    assert got == home


@pytest.mark.parametrize(
    "answer",
    [
        "(k-1)/(2(k+1))", (k - 1) / (2 * (k + 1)), sympy.Rational(1, 2) - 1 / (k + 1), k / 2, D,
        lambda k: (k - 1) / (2 * (k + 1)), "k-1/2(k+1)", 0.3, lambda n, m: n, "z", k**k**k,
    ],
)  # fmt: skip
def test_a_formula_is_judged_by_its_values(answer):
    name = next(n for n, q in load_questions().items() if getattr(q, "arguments", None) == ("k",))
    assert graded(name, answer) == at_home(name, answer)


def test_a_name_that_is_not_there_is_no_answer_yet():
    question = load_questions()["ps1.ridge"]
    reply = plain_values.answer_probe({}, probes.make_probe(asked("ps1.ridge"), question, "seed"))
    assert judging.judge_reply(asked("ps1.ridge"), reply, "seed", "ada").state == "missing"


def test_what_was_known_alone_counts_nothing():
    public = {}
    question = load_questions()["ps1.attainable"]
    for case in question.cases:
        public[case] = question.reference(*case)
    verdict = graded("ps1.attainable", lambda *case: public.get(case, 1.0))
    assert verdict.credit == 0
    assert verdict.slips == ("known cases alone",)


def something(rng, depth=0):
    """A random piece of JSON, of kinds that replies have and of others."""
    kinds = [
        "none", "ellipsis", "bool", "str", "bytes", "int", "integer", "num", "float16", "float32",
        "decimal", "figure", "chip", "Cost", "Roofline", "Estimate", "scalar", "dict", "callable",
        "symbolic", "iterable", "other", "list", "tuple", "set", "array", "raised", "?", None, 1,
    ]  # fmt: skip
    flat = [
        None, True, -1, 1e999, float("nan"), 10**40, "", "9" * 500, "compute", "H200", "\ud800",
        "a" * 3000, [], {}, "__class__", "1e5",
    ]  # fmt: skip
    if depth > 4 or rng.random() < 0.3:
        return rng.choice(flat)
    if rng.random() < 0.3:
        return [something(rng, depth + 1) for _ in range(rng.randrange(4))]
    value = something(rng, depth + 1)
    reply = {"t": rng.choice(kinds), "v": value, "name": rng.choice(flat)}
    reply |= {"text": rng.choice(flat), "unit": rng.choice(flat), "symbols": rng.choice(flat)}
    return {name: reply[name] for name in reply if rng.random() < 0.9}


def test_no_reply_breaks_the_judge():
    rng = random.Random(7)
    questions = [name for ps in SETS for name in questions_of_set(ps)]
    true = [plain_values.answer_probe({"x": odd}, {"expression": "x"})["value"] for odd in ODD]
    judges = {True: 0, False: 0}
    for _ in range(6000):
        reply = {"value": rng.choice([something(rng), rng.choice(true)])}
        if rng.random() < 0.6:
            reply["calls"] = [something(rng) for _ in range(rng.choice((0, 1, 8, 24)))]
        for name in ("me", "names", "said"):
            if rng.random() < 0.2:
                reply[name] = something(rng)
        reply = rng.choice([reply, reply, reply, something(rng)])
        name = rng.choice(questions)
        try:
            verdict = judging.judge_reply(
                asked(name, name[-5:] == ".mine" or None), reply, "seed", "ada"
            )
        except ProcessEndedError:
            judges[False] += 1
            continue
        judges[True] += 1
        assert isinstance(verdict, Verdict)
        assert 0 <= verdict.credit <= 1
        verdict.message.encode()
    assert min(judges.values()) > 500


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ([10**6], "elements in total"), ([1] * 9 + [10**9], "elements in total"),
        (["x", 10**12], "couldn't be repeated"), ([[1], 10**12], "couldn't be repeated"),
        ([10**4000] * 2000, "elements in total"), ("xx", "couldn't be repeated"),
        (7, "couldn't be repeated"), ([-1, -1], "couldn't be repeated"),
    ],
)  # fmt: skip
def test_a_program_cannot_take_the_judges_memory(shape, why):
    reply = {"value": {"t": "callable"}, "calls": [[["array", shape]] * 15_000]}
    verdict = judging.judge_reply(asked("ps2.matmul-bytes"), reply, "seed", "ada")
    assert verdict.credit == 0
    assert why in verdict.message


@pytest.mark.parametrize(
    "source",
    [
        "check('ps1.ridge')", "check(x, 1)", "check('ps1.ridge', 1, 2, 3)", "1", "", "x = = 1",
        "check('ps1.ridge', 1); print(1)", "chuck('ps1.ridge', 1)", "check('a', 1, points=2)",
        "assert ridge == 3", "\0", f"check('ps1.ridge', 1{' + 1' * 600})",
    ],
)  # fmt: skip
def test_only_a_check_can_be_asked_for(source):
    with pytest.raises(ValueError, match="can be judged"):
        probes.read_check(source)


@pytest.mark.parametrize(("name", "answer", "shown"), [
    ("ps1.ridge", 403.296, "403.296 FLOP/byte"),
    ("ps1.ridge", "1.5 ms\x1b[2J\u202e", "1.5 ms[2J"),
    ("ps1.order", ("H200", "B200"), "H200, B200"),
    ("ps1.order", {"a": {"b": [1]}}, "a: {'b': [1]}"),
    ("ps1.attainable", max, ""),
    ("ps3.volume", k * D, ""),
    ("ps1.bound", "x" * 9_000, "x" * 298 + " …"),
    ("ps1.order", ["y" * 300] * 9_000, "too long or too deep"),
    ("ps1.ridge", Decimal("1e999999"), "1E+999999"),
])  # fmt: skip
def test_the_value_that_was_judged_is_text_of_one_line(name, answer, shown):
    assert judging.format_value(load_questions()[name], reply_to(name, answer)) == shown


def test_a_forged_object_without_a_text_is_a_wrong_answer():
    rows = [{"t": "array", "v": [{"t": "num", "v": 1.0}] * number} for number in (1, 2)]
    fields = {"math": {"t": "array", "v": rows}, "comms": rows[0]["v"][0]}
    reply = {"value": {"t": "Estimate", "v": fields | {"other_times": {"t": "none"}}}}
    assert judging.judge_reply(asked("ps1.ridge"), reply, "seed", "ada").credit == 0
    assert judging.format_value(load_questions()["ps1.ridge"], reply) == ""


def test_a_reply_that_makes_no_sense_has_no_value_to_show():
    for reply in (None, {}, {"value": {"t": "int", "v": "x"}}):
        assert judging.format_value(load_questions()["ps2.matmul-bytes"], reply) == ""
