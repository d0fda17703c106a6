"""Tables as data: what a table may hold, and how one that is wrong is named."""

import tomllib
from pathlib import Path

import pytest

import roofkit as rk
from roofcheck.kinds import Choice, Formula, Function, Number, Order, Several
from roofcheck.reading.numbers import GivenNumber
from roofcheck.tables.catalogue import find_question, load_questions
from roofcheck.tables.toml_tables import TableError, read_questions, read_table

HERE = Path(__file__).parent
TABLES = {path.stem: path.read_text(encoding="utf-8") for path in HERE.glob("tables/*.toml")}
FLAWS = tomllib.loads((HERE / "flaws.toml").read_text(encoding="utf-8"))


def made(name="fetch"):
    [question] = read_questions(TABLES[name]).values()
    return question


def test_a_number_is_derived_by_its_steps_in_the_unit_it_is_asked_in():
    fetch = made()
    assert isinstance(fetch, Number)
    assert fetch.reference() == pytest.approx(2e12 / 1.638e12)
    assert [str(line) for line in fetch.derivation()] == [
        "the bytes = 10⁹ · 2 = 2 GB  (each weight crosses once)",
        "the time = 2 GB / 1.638 TB/s = 1.22 ms",
    ]
    assert fetch.hints()[1] == "Hint: find the bytes (each weight crosses once)."


def test_slips_come_from_the_steps_and_their_words_from_the_table():
    fetch, moved = made(), 2e9 / 1.638e12 * 1e3
    assert fetch.judge(3 * moved).slips == ("with gradients",)
    assert fetch.judge(moved / 1e9).slips[0] == "moved: left-out weights"
    assert fetch.judge(2e9).message.startswith("Your answer equals the bytes. You need")
    assert fetch.judge(2e9 * 1.638e12 * 1e3).slips == ("time: multiplied bandwidth",)


def test_a_draw_keeps_the_steps():
    drawn = made().with_new_figures(3)
    assert drawn.text() != made().text()
    weights, bandwidth = (drawn.inputs[name].value for name in ("weights", "bandwidth"))
    assert drawn.reference() == pytest.approx(1e3 * 2 * weights / bandwidth)


def test_parts_that_share_steps_follow_from_each_other():
    both = made("fetch-parts")
    assert isinstance(both, Several)
    wrong = both.judge([1e9, 1e9 / 1.638e12 * 1e3])
    assert (wrong.credit, wrong.slips[-1]) == (0.25, "time: follows")


def test_parts_with_inputs_of_their_own_share_steps_and_slips():
    both = made("fetches")
    assert both.reference() == {"first": 1e9 / 1.638e12, "second": 1e9 / 3.35e12}
    assert both.judge([1e9 / 1.638e12, 3e9 / 3.35e12]).slips == ("second: with gradients",)


def test_a_formula_is_of_symbols():
    formula = made("dot")
    assert isinstance(formula, Formula)
    assert formula.judge("(2N - 1)/(2N + 2)").state == "right"
    assert formula.judge("2N/(2N + 2)").slips == ("flops: short 2 · N, 2 · N − 1",)


def test_a_choice_is_decided_by_conditions():
    choice = made("binds")
    assert isinstance(choice, Choice)
    assert choice.judge("HBM").state == "right"


def test_a_function_is_compared_on_drawn_cases_with_the_steps_of_each_result():
    roof = made("roof")
    assert isinstance(roof, Function)
    for number, (intensity, peak, bandwidth) in enumerate(roof.cases):
        assert peak == float(f"{peak:.3g}")
        assert bandwidth / 1e12 in {1, 2, 3, 4, 6, 8}
        assert (intensity * bandwidth > peak) == number % 2
        speed = min(peak, intensity * bandwidth)
        assert roof.reference(intensity, peak, bandwidth) == pytest.approx((speed, 1 / speed))
    assert roof.with_case_seed("other").cases != roof.cases
    assert roof.judge(lambda i, p, b: (p / b, 1 / min(p, i * b))).slips == ("ridge",)
    both = roof.judge(lambda i, p, b: (min(p, b), 1 / min(p, b)))
    assert both.slips == ("slope: left-out intensity",) * 2
    assert "That is the bandwidth alone." in both.message


def test_an_order_goes_by_the_last_step_of_each_item():
    faster = made("remedies")
    assert isinstance(faster, Order)
    assert faster.text() == "20 users. Least first. A: fp8 weights. B: an fp8 cache. C: nothing."
    assert faster.reference() == ("C", "A", "B")
    assert faster.shows("B") == "an fp8 cache: 40 GB / 3.35 TB/s = 11.94 ms"
    assert faster.judge("BAC").message == "Exactly reversed."
    assert faster.judge("BCA").message == "That leaves out the caches."
    drawn = {each.inputs["users"].value: each for each in map(faster.with_new_figures, range(20))}
    assert drawn.keys() == {2, 40}, "with 10 users two are alike"
    assert drawn[2].reference() == ("C", "B", "A")
    assert drawn[2].shows("B") == "an fp8 cache: 22 GB / 3.35 TB/s = 6.567 ms"


def test_an_order_of_chips_has_others_in_a_draw():
    ridges = made("ridges")
    assert ridges.judge(["A100-80GB", "v5e", "H100"]).credit == 1
    drawn = ridges.with_new_figures(1)
    assert not set(drawn.items) & set(ridges.items)
    assert drawn.reference() == tuple(
        sorted(drawn.items, key=lambda name: rk.chip(name).roofline("bf16").ridge)
    )


def test_an_order_may_name_the_right_one():
    chain = made("chain")
    assert chain.text() == "Solve 2x = 6. A: Divide by 2. B: Write it down."
    assert (chain.reference(), chain.shows("A")) == (("B", "A"), "Divide by 2. x is alone.")
    assert chain.judge("AB").message.startswith("Before B there is nothing to divide.")
    assert not chain.has_new_figures


def test_items_are_said_in_a_second_language():
    words = {"x.chain": {"items": {"A": {"text": "Durch 2."}}, "needs": {"B, A": "Erst B."}}}
    [chain] = read_questions(TABLES["chain"], words=words).values()
    assert chain.text() == "Solve 2x = 6. A: Durch 2. B: Write it down."
    assert chain.judge("AB").message.startswith("Erst B.")


@pytest.mark.parametrize(
    ("name", "right", "wrong", "line", "says"),
    [(name, *flaw) for name, flaws in FLAWS.items() for flaw in flaws],
)
def test_a_table_that_is_wrong_is_named_with_its_line(name, right, wrong, line, says, tmp_path):
    assert TABLES[name].count(right) == 1
    path = tmp_path / "exam.toml"
    path.write_text(TABLES[name].replace(right, wrong), encoding="utf-8")
    with pytest.raises(TableError) as error:
        read_table(path)
    assert f"exam.toml, line {line}: x." in str(error.value)
    assert says in str(error.value)


def test_no_step_is_drawn():
    with pytest.raises(TableError, match="no function 'whole'"):
        read_questions(TABLES["roof"].replace('"intensity * bandwidth"', '"whole(1, 2)"'))


def test_a_file_that_is_no_toml_is_named():
    with pytest.raises(TableError, match=r"exam\.toml: Invalid"):
        read_questions("[", "exam.toml")


def test_a_second_language_has_the_same_keys_and_what_it_lacks_is_said_in_english():
    words = {
        "x.fetch": {
            "asks": "Wie lange holt {chip} {weights} Gewichte?",
            "steps": {"moved": "die Bytes: jedes Gewicht einmal"},
            "slips": {"with gradients": "Das bewegt auch Gradienten."},
            "inputs": {"weights": {"what": "die Gewichte"}},
        }
    }
    [fetch] = read_questions(TABLES["fetch"], words=words).values()
    assert fetch.text() == "Wie lange holt TPU v6e 10⁹ Gewichte?"
    assert [line.what for line in fetch.derivation()] == ["die Bytes", "the time"]
    assert fetch.judge(6e12 / 1.638e12).message == "Das bewegt auch Gradienten."
    assert "die Gewichte" in fetch.hints()[0]


def test_an_instructors_table_may_hold_a_question_with_new_figures(tmp_path, monkeypatch):
    written = find_question("ps1.ridge")
    exam = '["ps1.ridge"]\nlike = "ps1.ridge"\nseed = "exam 1"\npoints = 3\n'
    (tmp_path / "exam.toml").write_text(exam + TABLES["fetch"], encoding="utf-8")
    monkeypatch.setenv("ROOFKIT_QUESTIONS", str(tmp_path))
    assert find_question("ps1.ridge").text() == written.with_new_figures("exam 1").text()
    assert find_question("ps1.ridge").points == 3
    assert "x.fetch" in load_questions()


def test_a_wrong_method_is_not_right_for_being_near():
    gather = made("gather")
    right = gather.reference()
    assert gather.judge(right * 128 / 127).slips[0] == "lacking: short n, n − 1"
    assert gather.judge(right * 1.0015).credit == 1, "of rounded inputs"
    assert gather.judge(float(f"{right:.3g}")).credit == 1
    assert gather.judge(right * 1.007).credit == 0


def test_what_one_part_has_right_is_not_told_of_another():
    both = made("fetch-parts")
    [moved, time] = both.parts.values()
    half = [GivenNumber(time.reference() / 2)]
    assert time.find_settled_names([moved]) == {"weights", "size", "moved"}
    assert set(time.known_slips.diagnose(half).names) == {"size: elements"}
    slow = [GivenNumber(time.reference() * 1.638 / 3.35)]
    assert time.known_slips.diagnose(slow, {"moved", "size"}).names == ("bandwidth: another chip",)


def test_a_step_that_a_max_hides_is_not_settled_by_a_right_answer():
    both = made("both")
    lower, upper = both.parts.values()
    assert upper.find_settled_names([lower]) == {"moved", "bandwidth", "t_comms"}
    assert lower.find_settled_names([upper]) > {"ops", "peak", "t_math"}
