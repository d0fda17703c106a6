"""Functions, formulas and schedules that never come back: each is stopped, with a sentence.

The time is counted in the work of this process, and no test asks for how long it took.
"""

import contextlib
import itertools
import re
import signal
import sys
import threading
import time

import pytest
import sympy
from schedules import MATMUL

from roofcheck import check, find_question
from roofcheck.kinds import Formula, Function
from roofcheck.running import time_limit
from roofcheck.running.time_limit import EndlessError, TimeLimit

QUICK = 0.05
SAYS = re.compile(r"Called with \(x=[23]\.1\), your function was stopped after 0\.05 seconds\.")
ONE = Function(
    asks="", arguments=("x",), results={"r": lambda x: x * x},
    case=lambda rng, number: (2.1 + number,),
)  # fmt: skip
X = sympy.Symbol("x")
TEXT = Formula(asks="", arguments=("x",), results={"r": lambda x: x}, case=ONE.case)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(time_limit, "SECONDS", QUICK)


@pytest.fixture(params=["alarms", "a thread"])
def by(request, monkeypatch):
    """How the time is told: by alarms, or as on Windows."""
    if request.param == "a thread":
        monkeypatch.setattr(time_limit, "_can_use_alarms", lambda: False)
    return request.param


@pytest.fixture(autouse=True)
def _no_trace(capfd):
    """Nothing is left behind: no handler, timer, thread or switch, and no late exception."""

    def state():
        return (
            signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGINT),
            signal.getitimer(signal.ITIMER_REAL)[1], sys.getswitchinterval(), sys.gettrace(),
            sys.getprofile(), sys.unraisablehook,
        )  # fmt: skip

    before, threads = state(), set(threading.enumerate())
    yield
    for _ in range(10_000):
        pass
    assert state() == before
    assert capfd.readouterr().err == ""
    assert {t for t in threading.enumerate() if not t.name.startswith("student")} <= threads


# ---- what loops in Python, which is stopped everywhere


def plain(x):
    while True:
        pass


def suppressing(x):
    while True:
        with contextlib.suppress(BaseException):
            plain(x)


def twofold_recursion(x):
    try:
        twofold_recursion(x)
    finally:
        twofold_recursion(x)


def after_another(x):
    return x * x if x < 3 else plain(x)


def list_that_loops(x):
    class Endless(list):
        __iter__ = __len__ = plain

    return Endless([1, 2])


class Finalised:
    """Works whenever one of it is thrown away, which is where a strike goes nowhere."""

    def __del__(self):
        for _ in range(1000):
            pass


def finalising(x):
    while True:
        Finalised()


LOOPS = [plain, suppressing, after_another, list_that_loops, finalising]


@pytest.mark.parametrize("function", LOOPS, ids=lambda function: function.__name__)
def test_a_function_that_loops_is_stopped_with_a_sentence(function, by):
    verdict = ONE.judge(function)
    assert SAYS.match(verdict.message), verdict
    assert (verdict.credit, verdict.slips) == (0, ("endless",))
    assert len(verdict.message) <= 200


def test_a_loop_is_stopped_in_another_thread_too():
    verdicts = []
    beside = threading.Thread(target=lambda: verdicts.append(ONE.judge(suppressing)))
    beside.start()
    beside.join()
    assert SAYS.match(verdicts[0].message)


# ---- what waits or works in C, or goes too deep for a thread, which is stopped by alarms


def sleeping_on(x):
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(10**6)


IN_C = [lambda x: 10**10**10, sleeping_on, twofold_recursion]


@pytest.mark.skipif(not time_limit._can_use_alarms(), reason="needs alarms")
@pytest.mark.parametrize("function", IN_C, ids=["a power", "a sleep", "a deep recursion"])
def test_a_function_that_waits_or_works_in_c_is_stopped_by_alarms(function):
    assert SAYS.match(ONE.judge(function).message)


# ---- what comes back by itself, and is told shortly


def recursion(x):
    return recursion(x - 1)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (recursion, "Called with (x=2.1), your function keeps calling itself."),
        (lambda x: itertools.count(), "your function returned more than 1 value(s)."),
        (lambda x: input("x? "), "our function raised OSError"),
    ],
    ids=["a recursion", "endless values", "input"],
)
def test_what_is_too_much_is_told_shortly(function, says, monkeypatch):
    monkeypatch.setattr(time_limit, "SECONDS", 60)
    verdict = ONE.judge(function)
    assert says in verdict.message
    assert len(verdict.message) <= 200
    assert verdict.credit == 0


@pytest.mark.parametrize("formula", [X ** (10**12), sympy.factorial(X * 10**6), "x^(10^400)"])
def test_a_huge_formula_is_told_shortly(formula):
    verdict = TEXT.judge(formula)
    assert verdict.credit == 0
    assert len(verdict.message) <= 200


# ---- puzzles and objects


def test_a_schedule_that_loops_is_stopped_with_a_sentence(by):
    verdict = find_question(MATMUL).judge(lambda pad, *arrays: plain(pad))
    assert "your function was stopped after 0.05 seconds." in verdict.message
    assert len(verdict.message) <= 200


ENDLESS = {"ps1.ridge": "float", "ps1.time": "index", "ps1.bound": "repr", "ps1.order": "iter"}


@pytest.mark.parametrize("name", ENDLESS)
def test_an_object_that_loops_is_stopped_with_a_sentence(name, by):
    methods = dict.fromkeys((f"__{ENDLESS[name]}__", "__repr__"), lambda self, *rest: plain(self))
    grade = check(name, type("Endless", (), methods)())
    assert "Reading your answer was stopped after 0.05 seconds." in str(grade), grade


# ---- the limit itself


def test_a_function_that_comes_back_is_none_of_this(by):
    assert ONE.judge(lambda x: x * x).credit == 1
    assert TimeLimit().call(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        TimeLimit().call(divmod, 7, 0)


def test_all_calls_of_one_check_share_the_time(by):
    limit, calls = TimeLimit(), []

    def works():
        calls.append(1)
        end = time.process_time() + QUICK / 5
        while time.process_time() < end:
            pass

    def all_of_them():
        for _ in range(100):
            limit.call(works)

    with pytest.raises(EndlessError):
        all_of_them()
    assert 1 <= len(calls) <= 6
    with pytest.raises(EndlessError):
        limit.call(abs, 1)


@pytest.mark.parametrize(("share", "looks"), [(1, 10), (1 / 3, 30), (1 / 100, 10), (0, 10)])
def test_work_is_what_counts_and_a_process_that_sleeps_is_timed_by_the_wall(
    monkeypatch, share, looks
):
    """A process that gets a third of a busy machine has three times as long."""
    passed = 0.0
    monkeypatch.setattr(time_limit.time, "process_time", lambda: share * passed)
    limit = TimeLimit(3)
    looked, over = 0, False
    while not over:
        passed += 3 / time_limit.LOOKS
        looked, over = looked + 1, limit._is_over()
    # Sums of floats may want one look more.
    assert looked in (looks, looks + 1)


def test_a_timer_and_a_trace_of_somebody_else_go_on():
    rung, lines = [], []

    def trace(frame, event, argument):
        lines.append(frame.f_lineno) if frame.f_code is after_another.__code__ else None
        return trace

    before = signal.signal(signal.SIGALRM, lambda *ignored: rung.append(1)), sys.gettrace()
    signal.setitimer(signal.ITIMER_REAL, 1000)
    sys.settrace(trace)
    try:
        ONE.judge(after_another)
        assert sys.gettrace() is trace
        assert 900 < signal.getitimer(signal.ITIMER_REAL)[0] <= 1000
        signal.raise_signal(signal.SIGALRM)
    finally:
        sys.settrace(before[1])
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before[0])
    assert rung == [1]
    assert lines


def test_no_strike_interrupts_what_cleans_up_after_an_answer(monkeypatch):
    """A second strike comes microseconds after the first, while a busy machine still cleans up."""
    struck, set_timer = [], signal.setitimer

    def note(*arguments):
        struck.append(time_limit._is_in_answer(sys._getframe()))
        return set_timer(*arguments)

    monkeypatch.setattr(time_limit.signal, "setitimer", note)
    TimeLimit(3).call(
        lambda: TimeLimit(3).call(lambda: struck.append(time_limit._is_in_answer(sys._getframe())))
    )
    assert struck == [False, False, False, False, True, False, False]
