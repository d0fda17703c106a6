"""A student's own figures, and functions that predict: what counts, and what is refused."""

import itertools

from cases import cases

from roofcheck.kinds import Report
from roofcheck.tables.catalogue import load_questions

REPORTS = {name: q for name, q in load_questions().items() if isinstance(q, Report)}
FORECAST = load_questions()["ps6.forecast"]


def on_another_machine(name, factor):
    """The report of a machine on which everything measured is this many times as fast."""
    report, values = REPORTS[name], {}
    for part, figure in report.own.items():
        value = report.parts[part].reference()
        faster = {"FLOP/s": factor, "byte/s": factor, "s": 1 / factor}
        values[figure.input] = float(f"{value * faster.get(report.parts[part].unit, 1):.4g}")
    return report.with_own_figures(values)


@cases("name", ["ps6.roof", "ps6.passes", "ps6.bet"])
@cases("factor", [0.5, 0.333, 10.0])
def test_any_machine_is_as_good_as_any_other(name, factor):
    report = on_another_machine(name, factor)
    answer = [part.reference() for part in report.parts.values()]
    assert REPORTS[name].judge(answer).credit == 1
    assert REPORTS[name].judge([*answer[:-1], 1.7 * answer[-1]]).state == "partly"


@cases(("name", "measured"), [("ps6.passes", "your fast time"), ("ps6.bet", "your time")])
def test_nothing_is_faster_than_its_own_roof(name, measured):
    answer = REPORTS[name].reference()
    answer[measured] = f"{1e3 * 0.7 * 1e-3 * answer['at best']:.3g} ms"
    verdict = REPORTS[name].judge(answer)
    assert (verdict.credit, verdict.slips) == (0, ("faster than the roof",))
    assert "nothing is faster than its roof" in verdict.message


def test_a_measured_variable_a_bare_number_and_another_choice_are_refused():
    for name, part, value, says in (
        ("ps6.roof", "your peak", 208123456789.0, "another machine"),
        ("ps6.roof", "your peak", 208, "Is the unit right?"),
        ("ps6.plan", "chips", 3, "Choose 1, 2, 4 or 8"),
    ):
        verdict = REPORTS[name].judge(REPORTS[name].reference() | {part: value})
        assert (verdict.credit, says in verdict.message) == (0, True), verdict.message


def test_the_plan_that_gets_all_points_is_the_only_one():
    credits = {}
    for choice in itertools.product((1, 2, 4, 8), (2, 1, 0.5), (2, 1)):
        report = REPORTS["ps6.plan"].with_own_figures(dict(zip("nwk", choice, strict=True)))
        credits[choice] = REPORTS["ps6.plan"].judge(report.reference()).credit
    assert [choice for choice, credit in credits.items() if credit == 1] == [(2, 1, 1)]
    assert {choice[0] for choice, credit in credits.items() if 0 < credit < 1} == {2, 4, 8}


@cases("seed", [None, 1, 2])
def test_a_forecast_is_judged_by_its_error_and_its_ranges(seed):
    question = FORECAST if seed is None else FORECAST.with_case_seed(seed)

    def judged(change):
        return question.judge(lambda *shape: change(*question.reference(*shape)))

    assert question.judge(question.reference).credit == 1
    for change, slips in (
        (lambda low, time, high: (time, time, time), ("seldom",)),
        (lambda low, time, high: (low / 2, time, 2 * high), ("wide",)),
        (lambda low, time, high: (low, 1.4 * time, 2 * high), ("error", "wide")),
        (lambda low, time, high: (low / 9, time / 9, high), ("faster",)),
        (lambda low, time, high: (high, time, low), ("disordered",)),
    ):
        verdict = judged(change)
        assert (verdict.slips, verdict.credit < 1) == (slips, True)
    looked_up = question.judge(lambda *shape: 3 * (1.01 * question.timings[shape],))
    assert looked_up.slips == ("looked up",)
    assert question.judge(lambda B, D, F: None).state == "missing"
