"""What people write for a number, for several and for a formula, and what is asked back."""

import itertools
import math
import random
import re
import sys

import numpy as np
import pytest
from cases import cases
from hypothesis import assume, given
from hypothesis import strategies as st

from roofcheck import check
from roofcheck.kinds import Formula, Function, Number, Several
from roofcheck.reading.expressions import LONGEST, evaluate
from roofcheck.reading.labels import in_order
from roofcheck.reading.reading import EXACT, UnreadableError, as_sequence, read_number
from roofcheck.reading.spelling import formula
from roofcheck.steps.inputs import count

# What is written, and the value that it has in the question's unit.
FORMS = {
    "s": {
        "about.5": 0.5, "about5": 5, "5..": 5, "1.22, ms": 1.22e-3, "5 ms, memory bound": 5e-3,
        "1.22 ms, or so": 1.22e-3, "1,5.": 1.5, "5e-3.": 5e-3,
        "0.00122": 1.22e-3, "1.22e-3": 1.22e-3, "1.22E-3 s": 1.22e-3, "1.22 ms": 1.22e-3,
        "1,22 ms": 1.22e-3, "1.22ms": 1.22e-3, "1220 µs": 1.22e-3, "1220 μs": 1.22e-3,
        "1220 us": 1.22e-3, "1.22 milliseconds": 1.22e-3, "1.22 Milliseconds": 1.22e-3,
        "1,220,000 ns": 1.22e-3, "1220 microseconds.": 1.22e-3, "1.22 msec": 1.22e-3,
        "１．２２ ｍｓ": 1.22e-3, "1.22毫秒": 1.22e-3, "1220微秒": 1.22e-3, "1220000 纳秒": 1.22e-3,
        "约 1.22 毫秒": 1.22e-3, "大约1.22毫秒左右": 1.22e-3, "0.00122秒": 1.22e-3,
        "１．２２×１０⁻³ 秒": 1.22e-3, "1.22·10⁻³": 1.22e-3, "1.22 x 10^-3 s": 1.22e-3,
        "1.22*10**-3": 1.22e-3, "1.22 × 10^(−3) s": 1.22e-3, "1.22e−3": 1.22e-3,
        r"1.22\times 10^{-3}\,\text{s}": 1.22e-3, r"$1.22 \cdot 10^{-3}$": 1.22e-3,
        r"\frac{2\times10^9}{1.6\times10^{12}}": 1.25e-3, "1.22 (ms)": 1.22e-3,
        "1.22 [ms]": 1.22e-3, "1.22e-3 s (1.22 ms)": 1.22e-3, "about 5 ms": 5e-3,
        "roughly 5 ms": 5e-3, "~5ms": 5e-3, "≈ 5 ms": 5e-3, "ca. 5 ms": 5e-3, "at most 5 ms": 5e-3,
        "It is 5 ms.": 5e-3, "the answer is 5 ms": 5e-3, "I think 5 ms": 5e-3, "it's 5 ms": 5e-3,
        "T = 5 ms": 5e-3, "T_comms: 5 ms": 5e-3, "t > 5 ms": 5e-3, "5 ms or so": 5e-3,
        "five milliseconds": 5e-3, "half a millisecond": 5e-4, "½ ms": 5e-4, "1½ ms": 1.5e-3,
        "2 minutes": 120, "2 GB / 1.6 TB/s": 1.25e-3, "2GB/1.6TB/s": 1.25e-3,
        "2e9 bytes / (1.6e12 bytes/s)": 1.25e-3, "2 GB divided by 1.6 TB/s": 1.25e-3,
        "1e9 weights × 2 bytes / 1.6 TB/s": 1.25e-3, "2吉字节/1.6太字节每秒": 1.25e-3,
        "2 GB / 1.6 TB/s = 1.25 ms": 1.25e-3, "2e9/1.6e12 s": 1.25e-3,
        "2e9/1.6e12 ≈ 1.25 ms": 1.25e-3, "T = 5 ms, so memory-bound": 5e-3,
        "5 ms because 8 GB/1.6 TB/s": 5e-3, "5 ms (0.005)": 5e-3, "5 * ms": 5e-3,
        "1e12 FLOPs / 800 TFLOPS": 1.25e-3, "1 TFLOP / 800 TFLOP/s": 1.25e-3,
        "1 ms + 250 µs": 1.25e-3, "max(1 ms, 250 µs)": 1e-3, "max(1e-3, 2e-3)": 2e-3,
        "(1 + 0.25) ms": 1.25e-3, "5 ms per token": 5e-3, "16 Gbit / 1.6 TB/s": 1.25e-3,
    },
    "µs": {
        "5": 5, "5 µs": 5, "5 us": 5, "0.005 ms": 5, "5000 ns": 5, "5微秒": 5, "5e-6 s": 5,
        "五微秒": 5, "约三百二十微秒": 320, "320 microsecond": 320,
    },
    "bytes": {
        "2e9": 2e9, "2 GB": 2e9, "2 gigabytes": 2e9, "2 GiB": 2**31, "2吉字节": 2e9,
        "3千兆字节": 3e9, "16 Gbit": 2e9, "16 Gb": 2e9, "2 billion bytes": 2e9, "20亿字节": 2e9,
        "2G": 2e9, "13.4 MB": 13.4e6, "13.4兆字节": 13.4e6, "1.5万字节": 15000, "2 字节": 2,
        "64 tokens * 2 bytes": 128, "2 bytes of traffic": 2, "100 kB": 1e5, "100 KB": 1e5,
        "１００　字节": 100, "8比特": 1,
    },
    "FLOPs": {
        "5e11": 5e11, "5·10¹¹": 5e11, "5 x 10^11": 5e11, "500 GFLOPs": 5e11, "500 GFLOP": 5e11,
        "500 billion": 5e11, "0.5 trillion operations": 5e11,
        "5e11 floating point operations": 5e11,
        "5000亿": 5e11, "5000亿次浮点运算": 5e11, "2 * 2.5e11": 5e11, "500,000,000,000": 5e11,
        "500 000 000 000": 5e11, "2 TFLOP/s * 250 ms": 5e11,
    },
    "FLOP/s": {
        "5e12": 5e12, "5 TFLOP/s": 5e12, "5 TFLOPS": 5e12, "5 TFLOPs": 5e12, "5 TFLOPs/s": 5e12,
        "5 tflops": 5e12,
        "5 teraflops": 5e12, "5 TFLOP per second": 5e12, "5T": 5e12, "5 TOPS": 5e12,
        "50% of 10 TFLOP/s": 5e12, "2 FLOP/byte * 2.5 TB/s": 5e12,
    },
    "byte/s": {
        "3.35 TB/s": 3.35e12, "3350 GB/s": 3.35e12, "3.35 TB per second": 3.35e12,
        "26.8 Tbit/s": 3.35e12, "400 Gbps": 5e10, "50 GBps": 5e10, "每秒3.35太字节": 3.35e12,
        "3.35 TB·s⁻¹": 3.35e12,
        "3.35太字节/秒": 3.35e12, "3.35 ＴＢ／ｓ": 3.35e12, "3.35T": 3.35e12,
    },
    "FLOP/byte": {
        "240": 240, "240.5": 240.5, "240 FLOP/byte": 240, "240 FLOPs/B": 240, "240 FLOPs": 240,
        "240 FLOPs per byte": 240, "240 FLOP/字节": 240, "每字节240次浮点运算": 240, "(240)": 240,
        "$240$": 240, '"240"': 240, "[240]": 240, "I = 240": 240, "ridge: 240": 240,
        "two hundred and forty": 240, "二百四十": 240, "197 TFLOP/s / 819 GB/s": 197e3 / 819,
        "197 TFLOPS / 819 GB/s": 197e3 / 819, r"\frac{197}{819}\cdot 10^3": 197e3 / 819,
        "197e12/819e9": 197e3 / 819, "6e9 FLOPs / 2e9 bytes": 3,
        "240 (the peak over the bandwidth)": 240, "2/3 ≈ 0.67": 0.67, "197T/819G": 197e3 / 819,
    },
    "of peak": {
        "0.89": 0.89, "89%": 0.89, "89 %": 0.89, "８９％": 0.89, "89 percent": 0.89,
        "89% of peak": 0.89, "0.89 of the peak": 0.89, "百分之八十九": 0.89, "one fifth": 0.2,
        "a fifth of the peak": 0.2, "three quarters": 0.75, "two-thirds": 2 / 3, "half": 0.5,
        "½": 0.5, "¾": 0.75, "⅓": 1 / 3, "1/3": 1 / 3, "五分之一": 0.2, "一半": 0.5,
        "四分之三": 0.75, "33% of the dense bf16 peak": 0.33, "0.33 (33%)": 0.33,
        "1 in 480": 1 / 480, "one in 480": 1 / 480, "1 out of 480": 1 / 480, "1:480": 1 / 480,
        "an eighth": 0.125,
    },
    "times": {
        "2x": 2, "2×": 2, "2 times": 2, "twice": 2, "twice as fast": 2, "5x faster": 5,
        "5 times as long": 5, "2倍": 2, "两倍": 2, "a factor of 2": 2, "2-fold": 2, "1 1/2": 1.5,
        "1½": 1.5, "½×": 0.5, "five and a half": 5.5, "3:1": 3, "150%": 1.5, "infinity": math.inf,
        "∞": math.inf, "√2": math.sqrt(2),
    },
    "tokens": {
        "319": 319, "at least 319": 319, "319 tokens": 319, "319 tokens or more": 319,
        "至少319": 319, "319个词元": 319, "319+": 319, "B ≥ 319": 319, "B >= 319": 319,
        "8.76k": 8760, "8.76K tokens": 8760, "forty-two": 42,
    },
    "": {
        "8756": 8756, "8,756": 8756, "8 756": 8756, "8'756": 8756, "8_756": 8756,
        "８，７５６": 8756, "291 (3.4e12/1.17e10)": 291, "34 billion (3.4e10)": 3.4e10,
        "8756 columns": 8756, "8756列": 8756, "8,756 output columns": 8756, "D > 8756": 8756,
        "D > 8,756": 8756, ">8756": 8756, "8756 < D": 8756, "D ≥ 8756 columns": 8756,
        "8{,}756": 8756, "8.76k": 8760, "2.5 million": 2.5e6, ".5 million": 5e5, "1.5万": 15000,
        "三亿五千万": 3.5e8,
        "2万5千": 25000, "二〇四八": 2048, "5 hundred": 500, "1,234": 1234, "1.234,56": 1234.56,
        "1,234,567.8": 1234567.8, "1.234.567": 1234567, "12,34": 12.34, "0,234": 0.234,
        "2(3+4)": 14, "(3-4)*(-1)": 1, "10-4": 6, "2^10": 1024, "2¹⁰": 1024,
        "10 to the power of 3": 1000, "sqrt(16)": 4, r"\sqrt{16}": 4, "-5": -5, "−5": -5, "5.": 5,
        "64 chips × 2": 128, "三点五": 3.5, "三点5": 3.5,
    },
}  # fmt: skip


@cases(
    ("unit", "text", "value"),
    [(unit, text, value) for unit, forms in FORMS.items() for text, value in forms.items()],
)
def test_a_number_as_people_write_it(unit, text, value):
    assert read_number(text, unit).value == pytest.approx(value, rel=1e-12)


def test_enough_forms_are_read():
    assert sum(map(len, FORMS.values())) >= 250


@cases(
    ("text", "unit", "digits"),
    [
        ("1.22 ms", "s", 3), ("1.220 ms", "s", 4), ("about 5 ms", "s", 1), ("8.76k", "", 3),
        ("2.50 million", "", 3), ("3.4·10⁸", "", 2), ("3 x 10^8", "", 1), ("200", "", 2),
        ("2.0e2", "", 2), ("50%", "of peak", 2), ("１．２２毫秒", "s", 3), ("8,756", "", 4),
        ("240.", "", 3), ("(12)", "", 2), ("½", "", EXACT),
        ("2 GB / 1.6 TB/s", "s", EXACT), ("1 in 480", "of peak", EXACT),
    ],
)  # fmt: skip
def test_digits_are_those_that_were_written(text, unit, digits):
    assert read_number(text, unit).digits == digits


# What is asked back, by what is written and the question's unit.
ASKED = {
    ("291 (3.4e12)", ""): "may be a product, or one number and a remark",
    ("291 (3.4e12/1.2e10)", ""): "may be a product",
    ("2(3)", ""): "write a product with *",
    ("2 GB (1.6)", "bytes"): "may be a product",
    ("5 or 6", ""): "holds more than one number",
    ("5 ms or 6 ms", "s"): "holds more than one number",
    ("5 (or 6)", ""): "holds more than one number",
    ("5 to 6", ""): "leaves open which is the answer",
    ("5至6", ""): "leaves open which",
    ("5 或 6", ""): "leaves open which",
    ("between 5 and 6", ""): "leaves open which",
    ("5 ± 1", ""): "leaves open which",
    ("5 +/- 1", ""): "leaves open which",
    ("5..6", ""): "leaves open which",
    ("5~6", ""): "leaves open which",
    ("5; 6", ""): "leaves open which",
    ("1, 2", ""): "leaves open which",
    ("1、2", ""): "leaves open which",
    ("1,23,456", ""): "leaves open which",
    ("1,234e5", ""): "may stand before decimals or between thousands",
    ("1,234 x 10^5", ""): "may stand before decimals or between thousands",
    (".1,234", ""): "leaves open which",
    ("1.5.2", ""): "stand side by side",
    ("3 < D < 5", ""): "leaves open which",
    ("3:1", "s"): "leaves open which",
    ("one or two", ""): "leaves open which",
    ("3-4", ""): "may be a range or a difference",
    ("3–4 ms", "ms"): "may be a range",
    ("3e9 - 4e9", ""): "may be a range",
    ("3 ms - 4 ms", "ms"): "may be a range",
    ("3 4", ""): "3 and 4 stand side by side",
    ("3.4 10^12", ""): "write * or + between them",
    ("1 ms 200 µs", "s"): "1 ms and 200 µs stand side by side: write * or + between them",
    ("2 s 240", "s"): "2 s and 240 stand side by side",
    ("three 5", ""): "3 and 5 stand side by side",
    ("fast", ""): "it does not begin with one",
    ("maybe 5", ""): "it does not begin with one",
    ("GB 5", "bytes"): "it does not begin with one",
    ("GB", "bytes"): "it does not begin with one",
    ("5 bananas", ""): "'bananas' cannot be the unit here; the question asks for a plain number",
    ("5 per", ""): "'per' cannot be the unit",
    ("5 orders", "times"): "'orders' cannot be the unit",
    ("5 GB", "s"): "'GB' cannot be the unit here; the question asks for seconds",
    ("5 MS", "s"): "'MS' cannot be the unit",
    ("5 mB", "bytes"): "'mB' cannot be the unit",
    ("5 gb/s", "byte/s"): "'gb/s' may be bits or bytes. Write GB for bytes, Gbit for bits.",
    ("5 mb", "bytes"): "'mb' may be bits or bytes",
    ("less than 5", ""): "it does not begin with one",
    ("5 columns", "times"): "'columns' cannot be the unit",
    ("5 columns", "s"): "'columns' cannot be the unit",
    ("2 GB * 1.6 TB/s", "s"): "is in byte²/s; the question asks for seconds",
    ("2 GB / 1.6 TB/s", "FLOP/byte"): "is in seconds; the question asks for FLOP/byte",
    ("3 GB / 1 GB", "s"): "is in a plain number; the question asks for seconds",
    ("1 ms + 2 GB", "s"): "it adds or compares seconds and bytes",
    ("1 ms + 2 + 3 ms", "s"): "it adds or compares seconds and a plain number",
    ("max(1 ms, 3 GB)", "s"): "it adds or compares",
    ("1/0", ""): "it divides by zero",
    ("0**-1", ""): "it divides by zero",
    ("9**9**9", ""): "too large to be computed with",
    ("10^400 * 10^400", ""): "too large to be computed with",
    ("(-8)^0.5", ""): "the root of a negative number",
    ("sqrt(-1)", ""): "the root of a negative number",
    ("sqrt(1, 2)", ""): "leaves open",
    ("max(3, , 4)", ""): "it is not an arithmetic expression",
    ("(3", ""): "it is not an arithmetic expression",
    ("3)", ""): "it is not an arithmetic expression",
    ("3 *", "s"): "'times' cannot be the unit",
    ("(" * 40 + "1" + ")" * 40, ""): "too many parentheses or signs",
    ("-" * 200 + "1", ""): "too many parentheses or signs",
    ("^".join("2" * 100), ""): "too many parentheses or signs",
    ("1+" * 200 + "1", ""): "more than 300 characters",
    ("１" * 10**6, ""): "more than 300 characters",
    ("ﷺ" * 250, ""): "more than 300 characters",
    ("nan", ""): "That is nan",
    ("inf - inf", ""): "That is nan",
    ("1e999/1e999", "s"): "That is nan",
    ("", ""): "Replace the ...",
    ("...", "s"): "Replace the ...",
    (10**400, ""): "too large to be compared with",
    ((1, 2), ""): "type tuple of 2 values",
}  # fmt: skip
# What only a programmer of this check understands.
INTERNALS = re.compile(
    r"Error|Traceback|Errno|\(34|out of range|object|float\(|could not convert|invalid|NoneType"
)


def is_plain(message):
    return len(message) <= 200 and not INTERNALS.search(message)


@cases(("answer", "unit"), ASKED)
def test_what_cannot_be_decided_is_asked_in_a_sentence(answer, unit):
    with pytest.raises(UnreadableError) as error:
        read_number(answer, unit)
    assert ASKED[answer, unit] in str(error.value)
    assert is_plain(str(error.value))


def test_an_ambiguous_number_is_told_no_slip():
    columns = Number(asks="?", inputs={"n": count(291, "n")}, formula=lambda n: n)
    verdict = columns.judge("291 (3.4e12)")
    assert (verdict.credit, verdict.slips) == (0, ())
    assert "may be a product" in verdict.message


PREFIXES = {"T": 12, "G": 9, "M": 6, "k": 3, "": 0}
WIDE = str.maketrans("0123456789.,eE-+^", "０１２３４５６７８９．，ｅＥ－＋＾")
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def written(digits, power, style):
    """Digits that are each significant, times a power of ten, in one of many styles."""
    one = f"{digits[0]}.{digits[1:]}"
    top = power + len(digits) - 1
    prefix = max(PREFIXES.values() if top >= 0 else (0,), key=lambda p: (p <= top) * (p + 1))
    letter = {value: key for key, value in PREFIXES.items()}[prefix]
    styles = {
        "e": f"{one}e{top}",
        "E": f"{one}E{top:+d}",
        "comma": f"{digits[0]},{digits[1:]}e{top}",
        "times": f"{one} x 10^{top}",
        "dot": f"{one}·10{str(top).translate(RAISED)}",
        "python": f"{one}*10**{top}",
        "latex": rf"${one} \times 10^{{{top}}}$",
        "wide": f"{one}e{top}".translate(WIDE),
        "about": f"about {one}e{top}",
        "unit": f"{one}e{top - prefix} {letter}B",
        "chinese": f"约{one}e{top}字节",
        "equation": f"V = 2*{one} = {one}e{top} bytes",
        "label": f"the bytes: {one}e{top}",
    }
    return styles[style]


STYLES = [
    "e", "E", "comma", "times", "dot", "python", "latex", "wide", "about", "unit", "chinese",
    "equation", "label",
]  # fmt: skip


@given(
    st.text("0123456789", min_size=1, max_size=8),
    st.sampled_from("123456789"),
    st.integers(-9, 15),
    st.sampled_from(STYLES),
)
def test_a_number_in_any_style_is_read_to_its_value_and_digits(rest, first, power, style):
    digits = first + rest
    assume(style != "comma" or len(rest) != 3)
    found = read_number(written(digits, power, style), "bytes")
    assert found.value == pytest.approx(int(digits) * 10.0**power, rel=1e-12)
    assert found.digits == len(digits)


@given(st.integers(1, 10**12), st.sampled_from([",", " ", "'", "_", "\u00a0", "\u202f", "，"]))
def test_thousands_may_be_set_apart(value, sign):
    assert read_number(f"{value:,}".replace(",", sign)).value == value


PIECES = [
    *"0123456789.,eE+-*/^()[]{}%<>=≈~:; _'\"xX×·²½⁻√\\$µ∞约百千万亿兆秒字节每分之半一二三点\n\t",
    " ms", " GB", "/s", " TB/s", "FLOP", "byte", " or ", " to ", r"\frac", r"\sqrt{", "max(",
    "sqrt(", "half", "third", "two", "hundred and", "million", "per ", "about ", "1e9", "1,234",
    "**", "9**9", "五分之", "毫秒", " tokens", "nan", "inf", "±", "...", "D >", "ﷺ", "１", "𝟙", "٣",
]  # fmt: skip
NAMES = ["FLOPs", "bytes"]
SYMBOLS = {"B": 2.0, "D": 3.0, "n": 4.0}


def strange_texts(many):
    rng = random.Random(22)
    for _ in range(many):
        length = rng.choice((1, 2, 3, 5, 8, 13, 30, 80, 200))
        yield "".join(rng.choice(PIECES) for _ in range(length))
        yield (rng.choice(PIECES) + rng.choice(PIECES)) * rng.choice((10, 50, 140))


def what_is_said(read, text):
    """The message of what was raised, if anything was; no other error is expected."""
    try:
        read(text)
    except (UnreadableError, ValueError) as error:
        return str(error)
    return ""


def test_strange_text_is_asked_about_and_never_raises_anything_else():
    for text in strange_texts(400):
        for read in (
            lambda text: read_number(text, "s"),
            lambda text: read_number(text, ""),
            lambda text: in_order(text, NAMES),
            lambda text: evaluate(formula(text), SYMBOLS),
        ):
            assert is_plain(what_is_said(read, text)), text


def test_reading_takes_few_steps_however_strange_the_text():
    """Steps are counted, not seconds: a busy machine is no failure."""
    steps = 0

    def counting(frame, event, argument):
        nonlocal steps
        steps += event == "call"

    for text in (
        *strange_texts(300),
        "(" * 300,
        "9^" * 149 + "9",
        "1 " * 150,
        "亿" * 300,
        "x" * 300,
    ):
        steps = 0
        sys.setprofile(counting)
        what_is_said(read_number, text)
        sys.setprofile(None)
        assert steps < 100 * LONGEST, text


@cases(
    "answer",
    [
        [3e9, 2e6], (3e9, 2e6), np.array([3e9, 2e6]), "3e9, 2e6", "3e9; 2e6", "3e9 and 2e6",
        "[3e9, 2e6]", "(3e9, 2e6)", "3e9,2e6", "3e9 2e6", "3e9\n2e6", "3e9、2e6", "3e9；2e6",
        "FLOPs: 3e9, bytes = 2e6", "bytes = 2e6, FLOPs: 3e9", "flops 3e9; bytes 2e6",
        "bytes 2e6, 3e9", "BYTES: 2e6\nFLOPs： 3e9", "bytes = 1e6*2 = 2e6, FLOPs = 3e9",
        "{'bytes': 2e6, 'FLOPs': 3e9}", {"bytes": 2e6, "FLOPs": 3e9}, {"Bytes": 2e6, "flops": 3e9},
        {"bytes (in all)": 2e6, "FLOP": 3e9}, {"x": 3e9, "y": 2e6}, {"b": 2e6, "f": 3e9},
        ["bytes: 2e6", "FLOPs = 3e9"], [("bytes", 2e6), ("FLOPs", 3e9)],
    ],
)  # fmt: skip
def test_several_numbers_go_by_their_labels(answer):
    values = [read_number(value).value for value in in_order(answer, NAMES)]
    assert values == [3e9, 2e6]


@cases(
    "answer",
    [
        lambda: (value for value in (3e9, 2e6)),
        lambda: map(float, ("3e9", "2e6")),
        lambda: {"a": 3e9, "b": 2e6}.values(),
        lambda: {"bytes": 2e6, "FLOPs": 3e9}.items(),
        lambda: zip(["bytes", "FLOPs"], [2e6, 3e9], strict=True),
    ],
)
def test_several_numbers_may_come_one_by_one(answer):
    values = [read_number(value).value for value in in_order(answer(), NAMES)]
    assert values == [3e9, 2e6]


@cases(
    ("answer", "says"),
    [
        ({3e9, 2e6}, "A set has no order"),
        ("bytes: 2, bytes: 3", "labelled as bytes"),
        ("240,153", "Give 2 values, in this order: FLOPs and bytes."),
        ("1.2 ms", "Give 2 values"),
        ([1, 2, 3], "Give 2 values"),
        (5, "Give 2 values"),
        ("x" * 1000, "more than 300 characters"),
    ],
)
def test_several_numbers_that_cannot_be_told_apart_are_asked_for(answer, says):
    with pytest.raises(UnreadableError) as error:
        in_order(answer, NAMES)
    assert says in str(error.value)
    assert is_plain(str(error.value))


def test_names_of_parts_may_hold_signs():
    shapes = ["4x4", "8x16", "16x16"]
    assert in_order("16x16: 3, 4×4: 1, 8 x 16 = 2", shapes) == ["1", "2", "3"]
    widths = ["D = F = 3072", "D = F = 1280"]
    assert in_order("D = F = 1280: 3; D = F = 3072: 4", widths) == ["4", "3"]
    assert in_order({"lower": 1, "bytes": 2}, ["bytes", "T_lower"]) == [2, 1]


def test_an_endless_answer_is_read_no_further_than_needed():
    taken = []

    def numbers():
        for number in itertools.count():
            taken.append(number)
            yield number

    parts = {name: Number(asks="?", formula=lambda: 3.0) for name in NAMES}
    assert "Give 2 values" in Several(asks="?", parts=parts).judge(numbers()).message
    assert taken == [0, 1, 2]
    message = Number(asks="?", formula=lambda: 3.0).judge(numbers()).message
    assert (
        message == "That is a value of type generator of several values; one number is asked for."
    )
    assert len(taken) == 5
    assert as_sequence(itertools.repeat(1), 4) == (1, 1, 1, 1)
    assert len(as_sequence(range(10**12), 4)) == 1000


def test_a_function_that_gives_no_end_of_values_is_told_so():
    one = Function(
        asks="?",
        arguments=("n",),
        results={"n": lambda n: n},
        case=lambda rng, number: (rng.uniform(1, 9),),
    )
    assert "returned more than 1 value(s)" in one.judge(lambda n: itertools.repeat(n)).message
    assert "returned 5 value(s), not 1" in one.judge(lambda n: [n] * 5).message
    assert one.judge(lambda n: iter([n])).credit == 1


def test_one_number_may_come_in_anything_that_holds_it():
    for answer in ([5], (5,), np.array([[5]]), {"ridge": 5}, iter([5]), {"a": 5}.values(), ["5"]):
        assert read_number(answer).value == 5


AROUND = Formula(
    asks="?",
    arguments=("n", "V"),
    results={"bytes": lambda n, V: 2 * V * (1 - 1 / n**2)},
    case=lambda rng, number: (rng.randint(2, 9), rng.uniform(1e3, 1e6)),
    cancels={"B": 7.0},
)


@cases(
    "text",
    [
        "2V(1-1/n^2)", "2v(1-1/N^2)", "2·V·(1−1/n²)", "２Ｖ（１－１／ｎ²）", "2 x V x (1 - 1/n^2)",
        "2×V×(1-1/n**2)", "2Vx(1-1/n^2)", r"2V\left(1-\frac{1}{n^2}\right)", r"$2V(1-\frac1{n^2})$",
        r"\frac{2V(n^2-1)}{n^{2}}", r"2 \cdot V \cdot \frac{n^2 - 1}{n \times n}",
        r"\frac{2V}{\frac{n^2}{n^2-1}}", "bytes = 2V(1-1/n^2)", "T ≥ 2V[1-1/n^2] bytes",
        "2V_chip(1-1/n^2)", r"2V_{chip}(1-1/n^2)", "2V(1-1/n^2) = 2V - 2V/n^2", "2BV(1-1/n²)/B",
        "2V(n-1)(n+1)/(n n)", "V*(1-1/n^2)*sqrt(4)", "max(0, 2V(1-1/n^2))", "2V(1-1/n^2).",
    ],
)  # fmt: skip
def test_a_formula_as_people_write_it(text):
    assert AROUND.judge(text).credit == 1


@cases(
    ("text", "says"),
    [
        ("2V(1-1/m^2)", "'m' is not among its symbols (n, V, B)"),
        ("2bV(1-1/n^2)/b", "'bV' is not among its symbols"),
        ("V_1 + V_2", "'V_1' is not among its symbols"),
        ("V_tn", "'V_tn' is not among its symbols"),
        ("2V(1-1/n^2", "it is not an arithmetic expression"),
        ("V/(n-n)", "it divides by zero"),
        ("n**9999", "too large to be computed with"),
        ("9**9**9", "too large to be computed with"),
        ("(0-V)**0.5", "the root of a negative number"),
        ("V 2 3", "2 and 3 stand side by side"),
        ("(" * 100, "too many parentheses"),
        ("V" * 400, "more than 300 characters"),
        ("__import__('os')", "is not among its symbols"),
    ],
)
def test_a_formula_that_cannot_be_read_is_told_why(text, says):
    verdict = AROUND.judge(text)
    assert verdict.credit == 0
    assert says in verdict.message
    assert is_plain(verdict.message)


@cases("text", ["3-4", "5 or 6", "291 (3.4e12)", "1,234e9"])
def test_what_may_mean_two_numbers_is_asked_about_and_not_judged(text):
    grade = check("ps1.ridge", text)
    assert (grade.verdict.state, grade.verdict.slips) == ("asked", ())
    assert str(grade).startswith("Unclear. ")
    assert "Hint" not in str(check("ps1.ridge", text))
