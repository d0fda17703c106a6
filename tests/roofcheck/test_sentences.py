"""Every sentence that checks say stands in the table, so that another language can replace it.

The language of these tests is English in wide letters: ａ for a. What is shown in narrow letters
comes from the code.
"""

import contextlib
import html
import importlib
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import warnings
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import nbformat
import numpy as np
import pytest
import sympy
from click.testing import CliRunner
from home_said import of_home
from IPython.core.interactiveshell import InteractiveShell
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from schedules import gather
from traitlets.config import Config

import roofkit as rk
from roofcheck import (
    answer_page,
    answers,
    ask,
    chips,
    course,
    exchange,
    explaining,
    first_cell,
    ids,
    inputs,
    kinds,
    loading,
    rerun,
    showing,
    student,
    time_limit,
    typed,
    units,
)  # fmt: skip
from roofcheck.acts import acts
from roofcheck.algebra import read
from roofcheck.asking import as_text
from roofcheck.calling import argument_names
from roofcheck.commands import command
from roofcheck.computation import Candidate
from roofcheck.derivation import Derivation, Line, step
from roofcheck.diagnosis import told
from roofcheck.hand_in import hand_in, hand_in_file
from roofcheck.kinds import Choice, Formula, Function, Number, Order, Puzzle, Several, Verdict
from roofcheck.programs import Loops, Sends
from roofcheck.progress import progress
from roofcheck.review import answer_due, due_now, review
from roofcheck.sentences import Sentence, listed, say
from roofcheck.student import Grade, check, predict, quietly, reveal
from roofcheck.table import tables
from roofcheck.variants import judge_variant, variants
from roofkit.network import Group
from roofkit.words import LANGUAGE, Words

REVIEW = importlib.import_module("roofcheck.review")  # whose name in roofcheck is a function
WIDE = {code: code + 0xFEE0 for code in (*range(65, 91), *range(97, 123))}
# Narrow letters that are no sentence: names that the field, Python and the questions below have.
NAMES = re.compile(
    "|".join(
        [
            *(re.escape(chip) for chip in sorted(chips.NAMES, key=len, reverse=True)),
            r"\b(bf|fp|int)\d+\b|\bT_(math|comms)\b|\b[kMGTPm]?(FLOPs?|B|b|s|bit|bytes?)(/s)?\b",
            r"FLOP/byte|ring of \d|ROOFKIT_ANSWERS",
            r"log(?=[₀-₉])|\b(max|min|sqrt|ceil|floor|if|else|inf|nan|None|int|str|dict|list|generator|Cost|Chip|UserWarning|\w+Error)\b",
            r"\.(flops|bytes|intensity|bandwidth)|\.peak_flops\(\S+\)",
        ]
    )
)


def wide(text):
    """Text in wide letters, except for what stands in braces."""
    return "".join(
        part if part.startswith("{") else part.translate(WIDE)
        for part in re.split(r"(\{[^{}]*\})", text)
    )


@pytest.fixture(autouse=True)
def asked(tmp_path, monkeypatch):
    """The keys that are looked up in wide English, after all tables were loaded in English."""
    tables()
    for question in (SEND, RIDGE, HALF, TOKENS):
        _ = question.known.pairs, question.known.rare, question.known.inputs_given
    translated = "\n".join(f"{key} = '''{wide(text)}'''" for key, text in say.templates().items())
    shutil.copy(Path(say.folder, "en.toml"), tmp_path)
    (tmp_path / "zz.toml").write_text(translated, encoding="utf-8")
    monkeypatch.setattr(say, "folder", tmp_path)
    monkeypatch.setenv(LANGUAGE, "zz")
    found = set()
    look_up = Words.__call__

    def noting(words, key, **fields):
        found.add(key)
        return look_up(words, key, **fields)

    monkeypatch.setattr(Words, "__call__", noting)
    return found


def narrow(message, *known):
    """The words of a message that no table holds; ``known`` stand in it as they are."""
    for each in sorted(known, key=len, reverse=True):
        message = message.replace(each, "")
    return re.findall(r"[A-Za-z]{2,}", NAMES.sub("", message))


CHIP = "TPU v5e"
# Questions whose own words are wide already.
SEND = Number(
    asks=wide("a"),
    inputs={
        "work": inputs.count(3e9, wide("the work"), "FLOPs"),
        "ops": inputs.fma(),
        "size": inputs.itemsize("bf16", wide("a number")),
        "peak": inputs.peak(CHIP, others=["TPU v6e"]),
        "memory": inputs.bandwidth(CHIP, others=["TPU v6e"]),
        "link": inputs.link(CHIP, others=["TPU v6e"]),
        "one": inputs.one_link(CHIP),
    },
    formula=Derivation(
        [
            step("t_math", "ops * work / peak", "s", wide("math")),
            step("t_comms", "size * work / memory", "s", wide("comms: why")),
            step("moved", "max(t_math, t_comms)", "s", wide("moved")),
            step("sent", "size * work / link + size * work / one", "s", wide("sent")),
            step("all", "moved + sent", "s", wide("all")),
        ],
        "s",
    ),
    unit="s",
    how=wide("bytes over bandwidth"),
)
RIDGE = Number(
    asks=wide("r"),
    inputs={"peak": inputs.peak(CHIP), "memory": inputs.bandwidth(CHIP)},
    formula=lambda peak, memory: peak / memory,
    unit="FLOP/byte",
)
HALF = Number(
    asks=wide("h"),
    inputs={"a": inputs.count(3, wide("a")), "b": inputs.count(4, wide("b"))},
    formula=lambda a, b: a / b,
    unit="of peak",
    how=wide("why?"),
)
TOKENS = Number(
    asks=wide("t"),
    inputs={"a": inputs.count(40.25, wide("a"))},
    formula=lambda a: a,
    unit="tokens",
)
# To one digit the right value is that of a slip as well.
BLURRED = Number(
    asks=wide("n"),
    inputs={"n": inputs.count(128, wide("n"))},
    formula=Derivation([step("r", "(n - 1) / n / 2", "", wide("r"))], ""),
)
BOTH = Several(
    asks=wide("b"),
    parts={"A": SEND, "B": HALF},
    follows={"B": lambda given: given["A"] / SEND.reference() * HALF.reference()},
)
ADD = Formula(
    asks=wide("f"),
    arguments=("k",),
    results={"r": lambda k: (k - 1) / (2 * (k + 1))},
    case=lambda rng, number: (rng.uniform(2, 9),),
)
AREA = Function(
    asks=wide("f"),
    arguments=("x", "y"),
    results={"r": lambda x, y: max(x, y) / 7, "s": lambda x, y: x + 3 * y},
    case=lambda rng, number: (rng.uniform(1, 9), rng.uniform(1, 9)),
)
SINGLE = Function(
    asks=wide("f"),
    arguments=("x",),
    results={"r": lambda x: x * x},
    case=lambda rng, number: (rng.uniform(1, 9) * (-1) ** number,),
)
BOUND = Choice(asks=wide("c"), formula=lambda: "X", why_not={"Y": wide("no"), "Z": wide("no")})
NAMED = Order(asks=wide("o"), items=("A1", "B1", "C1"), key=lambda item: item)
LETTERS = Order(asks=wide("o"), items=("A", "B", "C"), key=lambda item: item)
VALUES = np.arange(8.0)
COPY = Puzzle(
    asks=wide("p"),
    case=lambda rng, number: Loops({"N": 8}, 64, {"X": VALUES}, "Z", VALUES, 32),
    credit={1: 1, 3: 0.2},
    many=1,
)
SENDS = Puzzle(
    asks=wide("p"),
    case=lambda rng, number: Sends(Group("torus", (4,), 1e9, (True,))),
    credit={1: 1, 2: 0.5},
    many=1,
)


def fail(*k):
    raise ValueError(wide("no"))


def never(*k):
    while True:
        pass


def deep(*k):
    return deep(*k)


# Steps with each kind of expression in them, of times and of plain numbers.
EACH = (
    "ceil(a * (b - 1) / (a * b) ** 2)", "floor(a - b + 3)", "sqrt(a) if a > b else log2(b)",
    "a / (b * 3)", "max(a, b)", "min(a, b)", "max(a, b, 3)", "min(a, b, 3)", "a + b",
)  # fmt: skip


def of_acts():
    given = {name: inputs.count(3, wide(name)) for name in "ab"}
    for text in EACH:
        for unit in ("", "s"):
            steps = [step("r", text, unit, wide("r")), step("t", "2 * r", unit, wide("t"))]
            for known in (given, {}):
                yield from (str(act.says) for act in acts(Derivation(steps, unit), known))


def of_several_slips():
    """What is said of slips that give one value, few and many, and of a plain factor."""
    right = (1.0,)

    def slip(name, value, says):
        return Candidate((name,), (value,), wide(says), place=wide(name))

    few = [slip("a", 2.5, "That is a"), slip("b", 2.5, "That is b")]
    long = [slip(each.names[0], 2.5, 120 * each.names[0]) for each in few]
    nowhere = [replace(each, place="") for each in long]
    alike = [slip("a", 2.5, "That. So"), slip("b", 2.5, "That. Else")]
    for found in (few, long, nowhere, alike, [slip("a", 2.0, "That is a.")]):
        yield told(found, right).message
    far = replace(few[0], says=Sentence("slip.besides", first=250 * wide("a"), second=wide("b")))
    yield told([far], right).message


def of_parts():
    long = Several(asks=wide("p"), parts={wide(70 * part): SEND for part in "abc"})
    stops = [act for act in SEND.known.acts if "given" in act.names[0]]
    yield long.judge([act.column[0] for act in stops[:3]]).message


def of_slips():
    for question in (SEND, RIDGE, HALF, TOKENS):
        known = question.known
        for one in [*known.singles, *known.pairs, *known.rare, *known.inputs_given]:
            yield from (str(one.says), question.judge(one.column[0]).message)
        yield from question.hints()
    for chip, dtype in ((CHIP, "int8"), ("H100 SXM", "bf16"), ("RTX A6000", "fp16")):
        peak, memory = inputs.peak(chip, dtype), inputs.bandwidth(chip)
        sizes = [inputs.itemsize(each, "-") for each in ("int8", "fp32")]
        for given in (peak, memory, inputs.link("TPU v5p"), *sizes, *SEND.inputs.values()):
            others = (*given.instead, *given.rarely)
            yield from map(str, (given.what, given.two, *(other.says for other in others)))


def of_numbers():
    right = SEND.reference()
    unread = (..., None, "", "[", [1, 2], len, True, {}, b"", "1 k", float("nan"), np.inf,
              "1 TB/s * 2 s", "1 s + 1", "3-4", "2 (3)", "3 ± 1", "1 mb", "1,234e5",
              (n for n in (1, 2)), 10**400,
              rk.matmul(2, 2, 2), rk.chip(CHIP), f"{right * 1e3:.4g} s", 0, -1, 12.3)  # fmt: skip
    for answer in (*unread, right, f"{right:.0e}"):
        yield SEND.judge(answer).message
    yield HALF.judge(0.75).message
    yield BLURRED.judge(0.5).message
    yield Number(asks="", formula=lambda: 2, unit="s", rtol=0.2).judge(7.3).message
    yield TOKENS.judge(41).message
    fixed = Number(asks="", formula=lambda: 5e11, unit="FLOPs")
    yield fixed.judge(5 * 10 ^ 11).message
    yield Number(asks="", formula=lambda: 1.74, unit="ms").judge(2).message
    for unit in units.DIMENSIONS:
        yield from (units.in_units(2, unit), units.in_units(2e9, unit), str(units.name(unit)))
    for answer in (
        [right],
        [right, 2],
        [0.75, right],
        [2 * right, 1.5],
        [..., ...],
        ...,
        "1; 2",
        "A: 1, A: 2",
    ):
        yield BOTH.judge(answer).message


def of_functions():
    def late(x):
        if x > 0:
            return x * x

    returned = (None, "x", {1: 2}, (1, 2, 3), itertools.repeat(1), 0, -1, 7, 1.5)
    for question in (AREA, SINGLE):
        yield from (question.judge(lambda *given, v=value: v).message for value in returned)
        yield from (question.judge(answer).message for answer in (..., None, 3, question.reference))
        yield from (question.judge(answer).message for answer in (fail, deep))
        yield question.judge(lambda a, b=0: fail()).message
    yield SINGLE.judge(late).message
    yield SINGLE.judge(lambda x: 2 * x * x).message
    yield SINGLE.judge(lambda x: round(x * x, 1)).message
    yield AREA.judge(lambda x, y: AREA.reference(x, y)[::-1]).message
    yield AREA.judge(lambda x, y: (x / 7, x + 3 * y)).message
    known = dict(zip(SINGLE.cases, map(lambda case: case[0] ** 2, SINGLE.cases), strict=True))
    yield SINGLE.judge_where_it_counts(lambda x: known.get((x,), 1.0), "seed").message
    yield " ".join(argument_names(3, 2))
    formulas = (
        "(k-1)/2(k+1)",
        "1/(k-k)",
        "(0-k)**0.5",
        "k)",
        "n/2",
        "1" * 400,
        "(" * 40,
        "9**9**9",
        "2 3 k",
        0.31,
        "k/7",
        "9**9**9**9",
        f"({ADD.cases[0][0] + 1e-6:.9f}-k)**0.5",
    )
    for answer in (*formulas, ..., {}, sympy.Symbol("n"), ADD.reference):
        yield ADD.judge(answer).message
    yield (
        Formula(asks="", arguments=(), results={"r": lambda: 1}, case=lambda *_: ())
        .judge("n")
        .message
    )


def of_names():
    yield from (BOUND.judge(answer).message for answer in (..., "X", "Y", "X and Z", "Q"))
    wrong = (
        ...,
        None,
        {"A1"},
        3,
        ["A1"],
        ["A1", "B1", "Q"],
        ["A1", "A1", "B1"],
        ["B1", "A1", "C1"],
        ["C1", "A1", "B1"],
    )
    yield from (NAMED.judge(answer).message for answer in wrong)
    yield from (LETTERS.judge(answer).message for answer in (None, "ABD"))


def of_asking():
    """Every kind of question as review asks it, and what is said of code that cannot be read."""
    in_units = [replace(HALF, unit=unit) for unit in units.DIMENSIONS]
    of_parts = replace(BOTH, parts=dict(zip("ABCDEFGHIJKLMN", in_units, strict=False)))
    for question in (*QUESTIONS.values(), NAMED, LETTERS, BOTH, COPY, of_parts, *in_units):
        yield as_text(question, "seed")
    yield typed.judge("ps9.sum", "", AREA, "").message
    for code in ("(", "fail(3)", "x = 3"):
        # What Python says of code stands between a colon and the next sentence.
        yield re.sub(r":.*?\. ", "", typed._judge_code(AREA, code).message)


def of_puzzles():
    def copy(times):
        def copies(pad, X, Z):
            for _ in range(times):
                block = pad.load(X)
                pad.store(block, Z)
                pad.free(block)

        return copies

    def half(pad, X, Z):
        pad.store(pad.load(X[:4]), Z[:4])

    def endless(pad, X, Z):
        while True:
            pad.free(pad.load(X[:1]))

    def deep(pad, X, Z):
        for _ in range(12):
            X = X[:4]
        pad.load(X)

    def around(fabric):
        ring = fabric.ring
        for turn in range(3):
            for place in range(4):
                fabric.send(ring[place - 1], ring[place], piece=ring[place - 1 - turn])
            fabric.step()

    def once(fabric):
        fabric.send(0, 1, 0)
        fabric.step()

    def idle(fabric):
        while True:
            fabric.holds(0, 0)

    loops = (copy(1), copy(2), copy(9), endless, deep, fail, lambda *a: None, ..., 3,
             lambda pad, X, Z: pad.array([1.0]))  # fmt: skip
    yield from (COPY.judge(answer).message for answer in loops)
    yield from (SENDS.judge(answer).message for answer in (around, idle, once))
    yield from (COPY.judge_programs(given).message for given in (3, [], [[[wide("import")]]]))
    large = [[["array", [10**6, 10**6]]]]
    yield COPY.judge_programs(large).message
    yield COPY.judge(half).message.partition("Z")[0]  # the rest is an error of roofkit
    generous = Puzzle(asks="", case=COPY.case, credit={3: 1}, many=1)
    both_ways = Puzzle(asks="", case=SENDS.case, credit={3: 1}, many=1)
    yield from (generous.judge(copy(2)).message, both_ways.judge(around).message)
    yield SENDS.judge(gather).message
    yield Sends(rk.network.group(CHIP, 4)).text()


VARIED = Number(
    asks=wide("v"),
    inputs={
        "n": inputs.count(3e9, wide("n"), "FLOPs", draw=(0.25, 0.5, 2, 3, 4, 5, 6, 7, 9)),
        "ops": inputs.fma(),
        "peak": inputs.peak(CHIP),
    },
    formula=lambda n, ops, peak: ops * n / peak,
    unit="s",
    points=2,
)
QUESTIONS = {
    "l09.varied": VARIED,
    "ps9.varied": VARIED,
    "ps9.half": replace(HALF, points=1),
    "ps9.bound": BOUND,
    "l09.send": SEND,
    "l09.add": ADD,
    "l09.area": AREA,
}


def of_guesses():
    right = SEND.reference()
    yield str(reveal("l09.send", right))
    for guess in (..., None, "", -1, *(right * factor for factor in (1, 1.5, 5, 1e6))):
        yield str(predict("l09.send", guess))
        yield str(reveal("l09.send", right))


class Torn(Number):
    """Judges every answer to be one of two slips."""

    def judge(self, answer):
        return Verdict(0, wide("either"), slips=("a", "b"))


def of_variants():
    yield from (str(ask("ps9.varied")), str(check("ps9.varied", 3, me=...)))
    for me in (..., "ada"):
        with pytest.raises(AttributeError) as error:
            _ = ask("ps9.varied", me).speed
        yield str(error.value).replace("speed", "").replace("chip", "")
    several = variants("ps9.varied")
    for own in several:
        steps = [one.column[0] for one in own.known.singles]
        for value in (*(other.reference() for other in several), *steps):
            yield judge_variant("ps9.varied", own, value).message
    torn = Torn(asks="", formula=lambda: 1, unit="s")
    yield judge_variant("ps9.varied", torn, several[0].reference()).message


def of_derivations():
    """Every way to say a step: of all, of one part, of the parts that follow; a choice; figures."""
    lines = [Line("", "", "", part=part, is_answer=True) for part in ("", wide("a"), "")]
    yield from (showing.as_text(lines), re.sub("<.*?>", "", showing.as_html(lines)))
    yield from (units.in_units(1, unit) for unit in units.ONE)
    for figure in loading.FIGURES:
        yield read(f"1 if {figure}('{CHIP}') > 1 else 2", loading.FIGURES).text(str)


def of_grades(monkeypatch, tmp_path):
    def warn():
        warnings.warn("", UserWarning, stacklevel=1)
        return Verdict(0, "")

    yield from (quietly(warn).message, quietly(fail).message)
    yield from (str(Grade(Verdict(credit, ""), 2)) for credit in (0, 0.5, 1))
    yield str(Grade(Verdict(0, "", "asked"), 2))
    due = datetime.now() + timedelta(days=2)
    yield from (repr(progress("ps9", f"{due}")), repr(progress("ps9", "2020-01-01")))
    monkeypatch.setenv(answers.FILE, str(tmp_path))
    yield str(check("ps9.bound", "X")).partition("[")[0]  # the rest is an error of Python


def of_reviews(monkeypatch, tmp_path):
    def typed(*options, **settings):
        shown = CliRunner().invoke(command(), ["review", *options], **settings).output
        frame = r"(l|ps)\d\d?\.\w+|/\S+|--\w+|^(Usage.*|  -h.*|Options|Error):?"  # by click
        return re.sub(frame, "", shown, flags=re.M)

    file = tmp_path / "kept" / "answers.jsonl"
    monkeypatch.setenv(answers.FILE, "")
    yield typed()
    monkeypatch.setenv(answers.FILE, str(file))
    yield repr(review())
    for name in ("l09.varied", "l09.area", "ps9.bound"):
        check(name, "Q")
    yield repr(review())
    monkeypatch.setattr(REVIEW, "GAPS", (0,))
    check("l09.add", "k")
    check("l09.area", 3)
    yield typed(input="\n\n\n\n")
    yield typed(input="q\n")
    monkeypatch.setattr(REVIEW, "MOST", 0)
    yield typed()
    monkeypatch.setattr(REVIEW, "MOST", 10)
    monkeypatch.setattr("roofcheck.typed.SECONDS", 0)
    area = next(due for due in due_now() if due.question_id == "l09.area")
    yield str(answer_due(area, "k"))
    with file.open("a", encoding="utf-8") as kept:
        kept.write("?\n")
    yield from (typed("--help"), typed("--list"), typed("--forget"))
    monkeypatch.setattr(REVIEW, "GAPS", (0, 0))
    check("l09.add", "k")
    yield str(answer_due(due_now()[0], "k"))
    yield from (str(answer_due(due_now()[0], "(k-1)/(2*(k+1))")) for _ in range(2))


def test_every_kind_of_question_is_asked_here():
    """Or a sentence that stands in the code of one would be seen by nobody."""
    missing = set(kinds.__all__) - {type(each).__name__ for each in globals().values()}
    assert missing == {"Question", "Verdict"}, "ask a question of this kind here, in wide letters"


def of_courses(monkeypatch, tmp_path):
    """What is in error in a teacher's course/term.toml, and a folder that holds no course."""
    (tmp_path / "course/en").mkdir(parents=True, exist_ok=True)
    (tmp_path / "course/en/index.json").write_text('{"lectures": [], "sets": []}')
    here = course.Course(tmp_path)
    named = r"ps1|ROOFLINE_COURSE|/\S+|course/\S+"
    for text in ("a = 1", "due.ps1 = 1", "due.ps1 = 2027-01-31T18:00:00"):
        (tmp_path / "course/term.toml").write_text(text)
        with pytest.raises(ValueError) as told:  # noqa: PT011  it is what is looked at
            _ = here.term
        yield re.sub(named, "", str(told.value))
    monkeypatch.setenv(course.FOLDER, "/nowhere")
    with pytest.raises(ValueError) as told:  # noqa: PT011
        course.find()
    yield re.sub(named, "", str(told.value))


def of_answers(monkeypatch, tmp_path):
    """Why each kind of answer is right, and the page for who learns alone."""
    least = Derivation([step("r", "N / 2", "bytes", wide("r"))], "bytes")
    called = replace(SINGLE, results={"r": Derivation([step("r", "2 * x", "", wide("r"))])})
    moved = replace(COPY, least=least, sizes=lambda case: case.sizes)
    explained = [explaining.explained(each) for each in (called, moved, NAMED, BOUND)]
    monkeypatch.setenv(answers.FILE, "")
    with pytest.raises(ValueError) as told:  # noqa: PT011  it is what is looked at
        answer_page.give_up("ps9")
    yield f"{told.value}"
    file = tmp_path / "page" / "answers.jsonl"
    monkeypatch.setenv(answers.FILE, str(file))
    about = {"number": 1, "title": "", "file": "ps9", "minutes": 1, "points": 1}
    lecture = about | {"id": "l09", "about": "", "asks": [], "guesses": []}
    del lecture["points"]
    lesson = {"lecture": "l09", "cell": "", "heading": ""}
    names = dict.fromkeys(("ps9.bound", "ps9.varied", "l09.add", "l09.area"), False)
    asks = [
        {"id": name, "number": 1, "title": "", "points": 1, "text": "", "cell": name,
         "paragraph": paragraph, "lesson": lesson}
        for name, paragraph in (names | {"a": True, "b": True}).items()
    ]  # fmt: skip
    folder = tmp_path / "course"
    (folder / "en").mkdir(parents=True)
    found = about | {"id": "ps9", "lectures": [], "questions": asks}
    (folder / "en/index.json").write_text(json.dumps({"lectures": [lecture], "sets": [found]}))
    (folder / "answers.json").write_text('{"ps9": {"a": "1"}}')
    here = course.Course(tmp_path)
    with pytest.raises(PermissionError) as told:
        answer_page.answer_page(here, "ps9")
    yield f"{told.value}".replace("ps9", "")
    answer_page.give_up("ps9")
    for name, credit in zip(names, (0, 0.5, 1), strict=False):
        answers.keep(name, Verdict(credit, ""), 1)
    page = answer_page.answer_page(here, "ps9")
    style = r"<style>.*?</style>|<!DOCTYPE.*?>|<[^>]*>"
    yield from (re.sub(style, " ", each, flags=re.S) for each in (*explained, html.unescape(page)))


class Ends:
    """A client whose kernel ends, or whose cell is stopped, at the first cell."""

    def __init__(self, error=None):
        self.error, self.timeout = error, 0

    def execute_cell(self, *cell):
        if self.error:
            raise self.error


class Complains:
    """An exchange that has the set, and then fails."""

    student, before = "ada", None

    def __init__(self, last=None):
        self.before = last

    def last(self, name):
        return self.before

    def submit(self, path, name):
        if not self.before:
            raise exchange.ExchangeError("")
        return datetime.now()

    def submitted(self, name):
        return datetime.now()


def of_reruns(tmp_path):
    nothing = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x")])
    errors = CellTimeoutError("x"), DeadKernelError("x"), None
    for error in errors:
        yield rerun._run(Ends(error), nothing, tmp_path / "told", 1, 0).ended


def of_hand_ins(monkeypatch, tmp_path):
    for name in ("JUPYTERHUB_USER", "JPY_SESSION_NAME", course.FOLDER):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "ps9"
    (folder / "course/en").mkdir(parents=True)
    (folder / "course/en/index.json").write_text('{"lectures": [], "sets": [{"id": "ps9", '
        '"file": "", "number": 9, "title": "", "minutes": 0, "points": 0, "lectures": [], '
        '"questions": []}]}')  # fmt: skip
    notebook, term = folder / "ps9.ipynb", folder / "course/term.toml"

    def cells(*sources):
        made = [nbformat.v4.new_code_cell(source) for source in sources]
        nbformat.write(nbformat.v4.new_notebook(cells=made), notebook)
        os.utime(notebook, (0, 0))

    def handed(name="ps9", unfinished=True, path=notebook, **found):
        monkeypatch.setattr(rerun, "run", lambda *a: rerun.Run(**found))
        return str(hand_in_file(path, name, unfinished))

    monkeypatch.setattr(exchange, "here", lambda *place: None)
    cells('check("ps9.varied", 3)')
    (folder / "1.csv").touch()
    failed = {"ended": wide("x"), "failing": (("", wide("x")),)}
    yield from (handed(unfinished=False, **failed), handed(), handed())  # alone, twice
    cells('check("ps9.varied", 4)')
    term.write_text("due.ps9 = 2020-01-01")  # in error: a day, and no time
    yield handed()
    term.write_text('due.ps9 = 2020-01-01T00:00:00Z\nids = "course/ids"\n')
    yield handed(me="ada", verdicts={"ps9.varied": ("wrong", 0.0)})
    (folder / "course/ids").write_text("ada")
    yield handed(me="ada")
    (folder / "course/ids").write_text(ids.written(["ada"]))
    found = ("", True), ("7", False), ("a/b", True), ("bob", True), ("ada@b", True)
    yield from (handed(me=me, me_is_text=is_text) for me, is_text in found)
    monkeypatch.setattr(exchange, "here", lambda *place: Complains())
    yield from (handed(me="bob"), handed(me="ada"))
    for last in (tmp_path, folder):
        monkeypatch.setattr(exchange, "here", lambda *place, last=last: Complains(last))
        shutil.copy(notebook, tmp_path / "ps9.ipynb")
        cells(f'check("ps9.varied", {len(str(last))})')
        yield handed()
    monkeypatch.setattr(exchange, "here", lambda *place: None)
    yield from (handed("ps0"), handed(path=folder / "1.csv"), handed(path=tmp_path / "0"))

    def changing(*_):
        cells('check("ps9.varied", 5)')
        return rerun.Run()

    monkeypatch.setattr(rerun, "run", changing)
    yield str(hand_in_file(notebook, "ps9", unfinished=True))
    shutil.rmtree(folder / "handed-in")
    (folder / "handed-in").touch()
    yield handed()
    monkeypatch.chdir(tmp_path / "ps9/course")
    yield from (str(hand_in("ps9")), str(hand_in("ps9", path=notebook)))
    cells('check("ps1.ridge", 3)')
    yield handed()
    cells("x")
    yield handed()


def of_exchanges(monkeypatch, tmp_path):
    """What nbgrader's commands may come to; that they do is for tests of the exchange."""
    place = exchange.Exchange(tmp_path, tmp_path / "sets", "", "")
    file = tmp_path / "file"
    file.touch()
    for ran in (
        lambda *a, **k: subprocess.CompletedProcess(a, 1, "", "[X | ERROR] 1"),
        lambda *a, **k: subprocess.CompletedProcess(a, 0, "?", ""),
        lambda *a, **k: (_ for _ in ()).throw(subprocess.TimeoutExpired("", 1)),
    ):
        monkeypatch.setattr(subprocess, "run", ran)
        for ask_it in (place.released, lambda: place.fetch("ps9")):
            with pytest.raises(exchange.ExchangeError) as told:
                ask_it()
            yield str(told.value)
    with pytest.raises(exchange.ExchangeError) as told:
        replace(place, sets=file / "sets").fetch("ps9")
    yield str(told.value).replace("Not a directory", "")


def of_first_cell(monkeypatch, tmp_path):
    """What a cell says that is run before the one that loads its names."""
    cells = [{"cell_type": "code", "source": ["import numpy as NP"]}]
    (tmp_path / "one.ipynb").write_text(json.dumps({"cells": cells}))
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "one.ipynb"))
    shell = InteractiveShell(config=Config(HistoryManager={"enabled": False}))
    first_cell.load_ipython_extension(shell)
    with contextlib.redirect_stdout(shown := io.StringIO()):
        shell.run_cell("NP")
    yield shown.getvalue().replace("NP", "")


def test_every_sentence_that_is_shown_comes_from_the_table(asked, monkeypatch, tmp_path):
    monkeypatch.setattr("roofcheck.table._tables", lambda *asked: QUESTIONS)
    monkeypatch.setattr(student, "_guesses", {})
    asking = (
        of_acts, of_several_slips, of_parts, of_slips, of_numbers, of_functions, of_names,
        of_asking, of_puzzles, of_guesses, of_variants, of_derivations,
    )  # fmt: skip
    shown = [message for ask_them in asking for message in ask_them()]
    shown += [*of_grades(monkeypatch, tmp_path), *of_reviews(monkeypatch, tmp_path)]
    shown += of_home(tmp_path, wide)
    shown += of_first_cell(monkeypatch, tmp_path)
    shown += [*of_answers(monkeypatch, tmp_path), *of_courses(monkeypatch, tmp_path)]
    named = (
        r"ps\d\.?\w*|(handed-in|course)/\S*|[/\[]\S+|\b(ada|bob|a)\b|(No such|File ex).*\w"
        r"|1.csv|\w*ids\b|due.ps9|datetime\S+"
    )
    told = (*of_reruns(tmp_path), *of_hand_ins(monkeypatch, tmp_path))
    told = (*told, *of_exchanges(monkeypatch, tmp_path))
    shown += [re.sub(named, "", each) for each in told]
    monkeypatch.setattr(time_limit, "SECONDS", 0.05)
    shown += [SINGLE.judge(never).message, COPY.judge(never).message]
    assert {message for message in shown if narrow(message)} == set()
    assert set(say.templates()) - asked == set()


def test_a_list_goes_by_the_table(tmp_path, monkeypatch):
    (tmp_path / "zz.toml").write_text(
        "list.comma = '{last}<{before}'\nlist.and = '{last}+{before}'"
    )
    assert str(listed("abcd")) == "d+c<b<a"
    assert (str(listed("a")), str(listed([]))) == ("a", "")
