"""Each student's own figures, and what is said of a neighbour's."""

from itertools import pairwise

import pytest
from cases import cases

from roofcheck import ask, check
from roofcheck.course import Term
from roofcheck.kinds import Number
from roofcheck.tables import variants
from roofcheck.tables.catalogue import find_question, load_questions
from roofcheck.tables.variants import APART_RTOL, find_variant, judge_variant, list_variants

NAME = "ps1.time"
MINE = find_variant(NAME, "ada")
OTHERS = [each for each in list_variants(NAME) if each is not MINE]


def test_no_two_variants_have_the_same_answer():
    right = sorted(each.reference() for each in list_variants(NAME))
    assert all(b > (1 + APART_RTOL / 2) * a for a, b in pairwise(right))


def test_a_student_keeps_one_variant_however_the_name_is_written():
    assert find_variant(NAME, "Ada ") is find_variant(NAME, "ada") is MINE
    assert len({id(find_variant(NAME, f"student {n}")) for n in range(200)}) == len(
        list_variants(NAME)
    )


def test_what_is_asked_is_what_is_judged():
    given = ask(NAME, "ada")
    assert repr(given) == MINE.text()
    assert given.flops == MINE.inputs["flops"].value
    assert given.chip == MINE.inputs["peak"].chips[0]
    assert check(NAME, MINE.reference(), "ada") == find_question(NAME).points
    with pytest.raises(AttributeError, match="'peak'; the numbers are flops, moved, chip"):
        print(given.peak)


def test_a_neighbours_number_is_told_for_what_it_is():
    steps = {step.names[0] for step in MINE.known_slips.steps}
    for other in OTHERS:
        grade = check(NAME, other.reference(), "ada")
        # What a slip of one's own gives is told as that.
        if not steps & {*grade.verdict.slips}:
            assert grade == 0
            assert "right for another student's numbers" in str(grade)
            assert "another variant" in grade.verdict.slips


def test_a_neighbours_answers_are_told_even_if_a_part_is_the_same_for_all():
    own, *others = list_variants("ps3.mine")
    told = [judge_variant("ps3.mine", own, [*other.reference().values()]) for other in others]
    assert all("another variant" in verdict.slips for verdict in told if len(verdict.right) < 2)
    assert max(verdict.credit for verdict in told) < 1


@cases("me", [..., None, "", "  ", "..."])
def test_without_an_id_there_is_no_answer_yet(me):
    grade = check(NAME, 500, me)
    assert (grade, grade.verdict.state) == (0, "missing")
    assert "me = ..." in str(grade)
    assert "me = ..." in repr(ask(NAME, me))
    with pytest.raises(AttributeError, match=r"me = \.\.\."):
        print(ask(NAME, me).flops)


def test_without_me_the_printed_numbers_count_only_where_no_id_is_asked_for(monkeypatch):
    mine = check("ps1.mine", find_question("ps1.mine").reference())
    assert mine.verdict.state == "missing"
    assert 'check("ps1.mine", ..., me)' in str(mine)
    monkeypatch.setattr(variants, "find_term", lambda: Term(own_figures=("ps1",)))
    assert check(NAME, find_question(NAME).reference()).verdict.state == "missing"
    assert check("ps1.bound", find_question("ps1.bound").reference()) == 2


def test_a_question_with_few_draws_has_no_variants():
    with pytest.raises(ValueError, match="are needed"):
        list_variants("l02.sum")
    with pytest.raises(ValueError, match="0 variants"):
        list_variants("ps1.bound")


@pytest.mark.slow("a class of hundreds gets figures of its own")
@cases("name", [name for name in load_questions() if name.endswith(".mine")])
def test_every_question_of_ones_own_has_variants_enough(name):
    found = list_variants(name)
    assert len({each.text() for each in found}) == len(found)
    for each in found:
        parts = getattr(each, "parts", {"": each})
        assert all(isinstance(part, Number) for part in parts.values())
    for each in found[::5]:
        assert each.judge(each.reference()).credit == 1


def test_in_no_layer_of_ones_own_does_another_array_cost_what_the_weights_do():
    for each in list_variants("ps3.mine"):
        B, D, F, n = (each.parts["the layer"].inputs[name].value for name in "BDFn")
        assert n in (4, 8)
        assert B % n == 0
        assert not {B, 2 * B} & {D, F}


def test_of_each_pair_of_ones_own_the_depthwise_layer_alone_waits_for_memory():
    for each in list_variants("ps5.mine"):
        ratio = each.parts["ratio"]
        of = ratio.formula.values({name: given.value for name, given in ratio.inputs.items()})
        ridge = of["peak"] / of["bandwidth"]
        assert of["deep"] / of["deep_moved"] < ridge / 1.2
        assert of["point"] / of["point_moved"] > 1.2 * ridge
        assert of["full"] / of["full_moved"] > 1.2 * ridge
