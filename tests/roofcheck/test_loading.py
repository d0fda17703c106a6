"""Tables as data: what a table may hold, and how one that is wrong is named."""

import pytest

import roofkit as rk
from roofcheck.kinds import Choice, Formula, Function, Number, Order, Several
from roofcheck.reading.numbers import GivenNumber
from roofcheck.tables.catalogue import find_question, load_questions
from roofcheck.tables.toml_tables import TableError, read_questions, read_table

FETCH = """
["x.fetch"]
asks = "How many milliseconds does the {chip} need to fetch {weights} bf16 weights?"
unit = "ms"
inputs.weights = { count = 1e9, what = "the weights" }
inputs.size = { itemsize = "bf16", of = "a weight" }
inputs.bandwidth = { bandwidth = "TPU v6e", others = ["H100 SXM"] }

["x.fetch".steps]
moved = ["weights * size", "bytes", "the bytes: each weight crosses once"]
time = ["moved / bandwidth", "s", "the time"]

["x.fetch".slips]
"with gradients" = ["moved = 3 * weights * size", "That moves gradients, too, as in training."]
"moved: left-out weights" = "That fetches a single weight."
"""


def made(text=FETCH):
    [question] = read_questions(text).values()
    return question


def test_a_number_is_derived_by_its_steps_in_the_unit_it_is_asked_in():
    fetch = made()
    assert isinstance(fetch, Number)
    assert fetch.reference() == pytest.approx(2e12 / 1.638e12)
    assert [str(line) for line in fetch.derivation()] == [
        "the bytes = 10⁹ · 2 = 2 GB  (each weight crosses once)",
        "the time = 2 GB / 1.638 TB/s = 1.22 ms",
    ]
    assert fetch.hints()[1] == "Hint: The bytes: each weight crosses once."


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
    both = made(
        FETCH.replace('unit = "ms"', 'kind = "several"').split('["x.fetch".slips]')[0]
        + """
["x.fetch".parts]
bytes = { step = "moved", unit = "bytes" }
time = { step = "time", unit = "ms" }
"""
    )
    assert isinstance(both, Several)
    wrong = both.judge([1e9, 1e9 / 1.638e12 * 1e3])
    assert (wrong.credit, wrong.slips[-1]) == (0.25, "time: follows")


def test_parts_with_inputs_of_their_own_share_steps_and_slips():
    both = made("""
["x.fetches"]
kind = "several"
asks = "How many seconds do {weights} bytes take from the memory of each of {parts}?"
inputs.weights = { count = 1e9, what = "the bytes" }
steps.time = ["weights / bandwidth", "s", "the time"]
slips."with gradients" = ["time = 3 * weights / bandwidth", "That moves gradients, too."]
parts.first = { unit = "s", inputs.bandwidth = { bandwidth = "TPU v6e" } }
parts.second = { unit = "s", inputs.bandwidth = { bandwidth = "H100 SXM" } }
""")
    assert both.reference() == {"first": 1e9 / 1.638e12, "second": 1e9 / 3.35e12}
    assert both.judge([1e9 / 1.638e12, 3e9 / 3.35e12]).slips == ("second: with gradients",)


def test_a_formula_is_of_symbols():
    formula = made("""
["x.dot"]
kind = "formula"
asks = "The intensity of x · x of N bf16 numbers?"
unit = "FLOP/byte"
arguments.N = [2, 99]
inputs.size = { itemsize = "bf16" }
steps.flops = ["2 * N - 1", "FLOPs", "the FLOPs: N products and N − 1 sums"]
steps.moved = ["size * (N + 1)", "bytes", "the bytes: N numbers and the result"]
steps.intensity = ["flops / moved", "FLOP/byte", "the intensity"]
""")
    assert isinstance(formula, Formula)
    assert formula.judge("(2N - 1)/(2N + 2)").state == "right"
    assert formula.judge("2N/(2N + 2)").slips == ("flops: short 2 · N, 2 · N − 1",)


def test_a_choice_is_decided_by_conditions():
    choice = made("""
["x.binds"]
kind = "choice"
asks = "T_math {math} s, T_comms {comms} s: what binds?"
inputs.math = { count = 2, what = "T_math" }
inputs.comms = { count = 3, what = "T_comms" }
right = { compute = "math >= comms", memory = "math < comms" }
why_not = { compute = "Moving takes longer.", memory = "The arithmetic takes longer." }
""")
    assert isinstance(choice, Choice)
    assert choice.judge("HBM").state == "right"


ROOF = """
["x.roof"]
kind = "function"
asks = "Write roof(intensity, peak, bandwidth): the FLOP/s that it reaches, and the time of 1 FLOP."
arguments = ["intensity", "peak", "bandwidth"]
inputs.work = { count = 1, what = "the work", draw = [] }
case.peak = "three_digits(10 ** between(12, 15))"
case.bandwidth = "one_of(1e12, 2e12) * whole(1, 4)"
case.share = "in_turn(between(0.1, 0.5), between(2, 5))"
case.intensity = "share * peak / bandwidth"
steps.slope = ["intensity * bandwidth", "FLOP/s", "the slope"]
steps.speed = ["min(peak, slope)", "FLOP/s", "the roof"]
steps.time = ["work / speed", "s", "the time"]
slips."slope: left-out intensity" = "That is the bandwidth alone."
results."the speed" = { step = "speed", unit = "FLOP/s", slips.ridge = ["peak / bandwidth", "No."] }
results."the time" = { step = "time", unit = "s" }
"""


def test_a_function_is_compared_on_drawn_cases_with_the_steps_of_each_result():
    roof = made(ROOF)
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


REMEDIES = """
["x.faster"]
kind = "order"
asks = "{users} users. Least first. A: {A}. B: {B}. C: {C}."
apart = 1.02
shows = "{text}: {moved} / {speed} = {time}"
reversed_says = "Exactly reversed."
inputs.users = { count = 20, what = "the users", draw = [0.1, 0.5, 2] }
items.A = { text = "fp8 weights", weights = 1e10, caches = "2 * users" }
items.B = { text = "an fp8 cache", weights = 2e10, caches = "users" }
items.C = { text = "nothing", weights = 2e10, caches = "2 * users" }
steps.speed = ["bandwidth('H100 SXM')", "byte/s", "the bandwidth"]
steps.moved = ["weights + 1e9 * caches", "bytes", "the bytes"]
steps.time = ["moved / speed", "s", "the time"]
steps.rate = ["1 / time", "", "the steps a second"]
slips."no caches" = ["moved = weights", "That leaves out the caches."]
"""


def test_an_order_goes_by_the_last_step_of_each_item():
    faster = made(REMEDIES)
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


RIDGES = """
["x.ridges"]
kind = "order"
asks = "Lowest ridge first."
items = ["TPU v5e", "A100 80GB SXM", "H100 SXM"]
apart = 1.02
each.peak = { peak = "{item}" }
each.bandwidth = { bandwidth = "{item}", link = false }
steps.ridge = ["peak / bandwidth", "FLOP/byte", "the ridge"]
slips."by name" = ["item", "That is the alphabet."]
"""


def test_an_order_of_chips_has_others_in_a_draw():
    ridges = made(RIDGES)
    assert ridges.judge(["A100-80GB", "v5e", "H100"]).credit == 1
    drawn = ridges.with_new_figures(1)
    assert not set(drawn.items) & set(ridges.items)
    assert drawn.reference() == tuple(
        sorted(drawn.items, key=lambda name: rk.chip(name).roofline("bf16").ridge)
    )


CHAIN = """
["x.chain"]
kind = "order"
asks = "Solve 2x = 6. A: {A} B: {B}"
right = "BA"
shows = "{text} {why}"
items.A = { text = "Divide by 2.", why = "x is alone." }
items.B = { text = "Write it down.", why = "It is given." }
needs."B, A" = "Before B there is nothing to divide."
"""


def test_an_order_may_name_the_right_one():
    chain = made(CHAIN)
    assert chain.text() == "Solve 2x = 6. A: Divide by 2. B: Write it down."
    assert (chain.reference(), chain.shows("A")) == (("B", "A"), "Divide by 2. x is alone.")
    assert chain.judge("AB").message.startswith("Before B there is nothing to divide.")
    assert not chain.has_new_figures


def test_items_are_said_in_a_second_language():
    words = {"x.chain": {"items": {"A": {"text": "Durch 2."}}, "needs": {"B, A": "Erst B."}}}
    [chain] = read_questions(CHAIN, words=words).values()
    assert chain.text() == "Solve 2x = 6. A: Durch 2. B: Write it down."
    assert chain.judge("AB").message.startswith("Erst B.")


WRONG = {
    'weights * size", "bytes"': ('weights * sise", "bytes"', 10, "did you mean 'size'"),
    '"moved / bandwidth"': ('"moved // "', 11, "isn't an expression"),
    "moved / bandwidth": ("open(moved)", 11, "no function 'open'"),
    "weights * size": ("weights.real", 10, "a table's arithmetic"),
    'unit = "ms"': ('unit = "mss"', 4, "unknown unit 'mss'"),
    '"s", "the time"': ('"bytes", "the time"', 2, "converted to ms"),
    "count = 1e9": ("number = 1e9", 5, "give it one of count"),
    'bandwidth = "TPU v6e"': ('bandwidth = "TPU v66e"', 7, "TPU v6e"),
    "asks =": ("ask =", 3, "has no key 'ask'"),
    "inputs.size =": ("inputs.siz =", 10, "'size' is neither"),
    "moved = 3 * weights": ("moved = 3 * weight", 14, "did you mean 'weights'"),
    'time = ["moved': ('time = ["time', 11, "'time' is neither an input nor an earlier step"),
}


@pytest.mark.parametrize("right", WRONG)
def test_a_table_that_is_wrong_is_named_with_its_line(right, tmp_path):
    wrong, line, says = WRONG[right]
    assert right in FETCH
    path = tmp_path / "exam.toml"
    path.write_text(FETCH.replace(right, wrong), encoding="utf-8")
    with pytest.raises(TableError) as error:
        read_table(path)
    assert f"exam.toml, line {line}: x.fetch: " in str(error.value)
    assert says in str(error.value)


WRONG_OF_KINDS = {
    (ROOF, "between(12, 15)"): ("betwen(12, 15)", 7, "did you mean 'between'"),
    (ROOF, "between(0.1, 0.5)"): ("between(0.1)", 9, "cannot draw a case: "),
    (ROOF, "share * peak"): ("shares * peak", 10, "did you mean 'share'"),
    (ROOF, "case.bandwidth"): ("case.bandwith", 10, "did you mean 'bandwith'"),
    (ROOF, '"intensity * bandwidth"'): ('"opened(1, 2)"', 11, "no function 'opened'"),
    (ROOF, '{ step = "time"'): ('{ step = "times"', 16, "did you mean 'time'"),
    (ROOF, "slips.ridge"): ("slip.ridge", 15, "has no key 'slip'"),
    (ROOF, '["peak / bandwidth"'): ('["peak / bandwith"', 15, "did you mean 'bandwidth'"),
    (REMEDIES, '"users" }'): ('"user" }', 10, "did you mean 'users'"),
    (REMEDIES, "weights + 1e9"): ("weight + 1e9", 13, "did you mean 'weights'"),
    (REMEDIES, "moved = weights"): ("moved = weight + 1", 16, "did you mean 'weights'"),
    (REMEDIES, "{speed}"): ("{sped}", 2, "sped is missing"),
    (REMEDIES, '["moved = weights", "That leaves out the caches."]'): (
        '"No."',
        16,
        "no expression",
    ),
    (RIDGES, "apart ="): ("apar =", 6, "has no key 'apar'"),
    (RIDGES, 'peak = "{item}"'): ('peek = "{item}"', 7, "give it one of"),
    (CHAIN, '"B, A"'): ('"B, Z"', 9, "does not name two of A, B"),
    (CHAIN, 'shows = "{text} {why}"'): ('steps.x = "1"', 5, "'right' or steps"),
    (CHAIN, '"BA"'): ('"BB"', 5, "must contain each of A, B once"),
    (CHAIN, 'right = "BA"'): ("", 2, "neither steps nor a 'right' order"),
}


@pytest.mark.parametrize(("table", "right"), WRONG_OF_KINDS)
def test_a_wrong_function_or_order_is_named_with_its_line(table, right):
    wrong, line, says = WRONG_OF_KINDS[table, right]
    assert table.count(right) == 1
    with pytest.raises(TableError) as error:
        read_questions(table.replace(right, wrong), "exam.toml")
    assert f"exam.toml, line {line}: x." in str(error.value)
    assert says in str(error.value)


def test_no_step_is_drawn():
    with pytest.raises(TableError, match="no function 'whole'"):
        read_questions(ROOF.replace('"intensity * bandwidth"', '"whole(1, 2)"'))


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
    [fetch] = read_questions(FETCH, words=words).values()
    assert fetch.text() == "Wie lange holt TPU v6e 10⁹ Gewichte?"
    assert [line.what for line in fetch.derivation()] == ["die Bytes", "the time"]
    assert fetch.judge(6e12 / 1.638e12).message == "Das bewegt auch Gradienten."
    assert "die Gewichte" in fetch.hints()[0]


def test_an_instructors_table_may_hold_a_question_with_new_figures(tmp_path, monkeypatch):
    written = find_question("ps1.ridge")
    exam = '["ps1.ridge"]\nlike = "ps1.ridge"\nseed = "exam 1"\npoints = 3\n'
    (tmp_path / "exam.toml").write_text(exam + FETCH, encoding="utf-8")
    monkeypatch.setenv("ROOFKIT_QUESTIONS", str(tmp_path))
    assert find_question("ps1.ridge").text() == written.with_new_figures("exam 1").text()
    assert find_question("ps1.ridge").points == 3
    assert "x.fetch" in load_questions()


GATHER = """
["x.gather"]
asks = "An array is all-gathered over {n} chips. How many µs?"
unit = "µs"
inputs.V = { count = 1e9, what = "the array", unit = "bytes" }
inputs.n = { count = 128, what = "the chips" }
inputs.W = { link = "TPU v5e" }
steps.lacking = ["(n - 1) / n * V", "bytes", "the bytes that a chip lacks"]
steps.time = ["lacking / W", "s", "the time"]
"""


def test_a_wrong_method_is_not_right_for_being_near():
    gather = made(GATHER)
    right = gather.reference()
    assert gather.judge(right * 128 / 127).slips[0] == "lacking: short n, n − 1"
    assert gather.judge(right * 1.0015).credit == 1, "of rounded inputs"
    assert gather.judge(float(f"{right:.3g}")).credit == 1
    assert gather.judge(right * 1.007).credit == 0


def test_what_one_part_has_right_is_not_told_of_another():
    both = made(
        FETCH.replace('unit = "ms"', 'kind = "several"').split('["x.fetch".slips]')[0]
        + """
["x.fetch".parts]
bytes = { step = "moved", unit = "bytes" }
time = { step = "time", unit = "ms" }
"""
    )
    [moved, time] = both.parts.values()
    half = [GivenNumber(time.reference() / 2)]
    assert time.find_settled_names([moved]) == {"weights", "size", "moved"}
    assert set(time.known_slips.diagnose(half).names) == {"size: elements"}
    slow = [GivenNumber(time.reference() * 1.638 / 3.35)]
    assert time.known_slips.diagnose(slow, {"moved", "size"}).names == ("bandwidth: another chip",)


def test_a_step_that_a_max_hides_is_not_settled_by_a_right_answer():
    [both] = read_questions("""
["x.both"]
kind = "several"
asks = "{parts}?"
inputs.pairs = { count = 1e9, what = "the multiply-adds" }
inputs.ops = { fma = true }
inputs.moved = { count = 1e10, what = "the bytes", unit = "bytes" }
inputs.peak = { peak = "TPU v5e" }
inputs.bandwidth = { bandwidth = "TPU v5e" }
steps.t_math = ["ops * pairs / peak", "s", "T_math"]
steps.t_comms = ["moved / bandwidth", "s", "T_comms"]
steps.lower = ["max(t_math, t_comms)", "s", "T_lower"]
steps.upper = ["t_math + t_comms", "s", "T_upper"]
parts.lower = { step = "lower", unit = "s" }
parts.upper = { step = "upper", unit = "s" }
""").values()
    lower, upper = both.parts.values()
    assert upper.find_settled_names([lower]) == {"moved", "bandwidth", "t_comms"}
    assert lower.find_settled_names([upper]) > {"ops", "peak", "t_math"}
