"""The release's notebook is built anew from whatever was handed in, or refused with a reason."""

import json
import random
import time

import nbformat
import pytest
from damage import (
    RELEASE,
    answer_on_top,
    cell,
    delete,
    duplicate,
    format_3,
    lose_metadata,
    made,
    move_below,
    own,
    paragraph_elsewhere,
    place,
    retype,
    schema,
    text,
)
from homework import ROOT, SETS, notebook

from roofgrade.common.errors import RefusedError
from roofgrade.restore.restored_notebook import restore_notebook
from roofgrade.restore.submitted_cells import MOST_CELLS

IDS = [each.id for each in RELEASE.cells]
ANSWERS = {each.id: each.source for each in notebook(ROOT, "solutions", "ps1").cells}


def mended(*changes):
    """What becomes of the solution after these changes; it is sound in any case."""
    found = restore_notebook(made(*changes), RELEASE)
    is_sound(found.notebook, RELEASE)
    return found


def is_sound(nb, release):
    wanted = [each.metadata.nbgrader for each in release.cells]
    found = [each.metadata.nbgrader for each in nb.cells if "nbgrader" in each.metadata]
    assert sorted(found, key=str) == sorted(wanted, key=str)
    assert len({each.id for each in nb.cells}) == len(nb.cells)
    assert not any(each.get("outputs") for each in nb.cells)
    given = {each.id: each for each in release.cells}
    for each in nb.cells:
        if "nbgrader" in each.metadata:
            assert each.metadata == given[each.id].metadata
            assert each.cell_type == given[each.id].cell_type
            if each.metadata.nbgrader.locked:
                assert each.source == given[each.id].source
    # The rest is the release's own: nbformat's schema takes most of the time.
    nbformat.validate(nb | {"cells": [each for each in nb.cells if each not in release.cells]})
    nbformat.writes(nb).encode()


def has_no_remarks(found):
    return not any((found.remarks, found.unread_paragraphs, found.edited_checks))


def lost_answers(found):
    return " ".join(remark for remark in found.remarks if "no answer elsewhere" in remark)


def order(nb):
    return [each.id for each in nb.cells]


def source(found, grade_id):
    return next(each.source for each in found.notebook.cells if each.id == grade_id)


def is_complete(found):
    """Whether every answer is where it belongs, and nothing was to be remarked but that."""
    answers = {each.id: each.source for each in found.notebook.cells if each.id in ANSWERS}
    locked = {each.id for each in RELEASE.cells if each.metadata.nbgrader.locked}
    return all(answers[name] == ANSWERS[name] for name in answers.keys() - locked)


@pytest.mark.parametrize("name", SETS)
def test_a_release_that_nobody_touched_stays_itself(name):
    release = notebook(ROOT, "exercises", name)
    raw = (ROOT / "exercises/en" / name / f"{name}.ipynb").read_bytes()
    found = restore_notebook(raw, release)
    assert found.notebook == release
    assert has_no_remarks(found)


def test_a_whole_solution_comes_through_without_a_remark():
    found = mended()
    assert is_complete(found)
    assert order(found.notebook) == IDS
    assert has_no_remarks(found)


@pytest.mark.parametrize("change", [
    lose_metadata,
    format_3,
    schema(None),
    schema(4),
    lambda nb: (lose_metadata(nb), format_3(nb)),
    lambda nb: nb["metadata"].update(kernelspec={"name": "julia-1.9", "language": "julia"}),
    lambda nb: nb.update(nbformat_minor=2),
    lambda nb: cell(nb, "ps1-title").update(cell_type="heading", level=1),
    lambda nb: nb.update(nbformat=5),
    lambda nb: nb.pop("metadata"),
    lambda nb: [each.update(id="same") for each in nb["cells"]],
    lambda nb: [each["metadata"]["nbgrader"].update(points=1000, x=1) for each in nb["cells"]],
    lambda nb: [each["metadata"].update(tags=["skip-execution"]) for each in nb["cells"]],
    lambda nb: [each["metadata"]["nbgrader"].update(solution=False) for each in nb["cells"]],
])  # fmt: skip
def test_what_editors_and_converters_do_is_undone(change):
    assert is_complete(mended(change))
    assert order(mended(change).notebook) == IDS


def test_edits_of_locked_cells_do_not_count_and_an_edited_check_is_told():
    def edit(nb):
        cell(nb, "ps1-ridge-text")["source"] = "easier"
        cell(nb, "ps1-ridge-check")["source"] = 'check("ps1.ridge", my_ridge)'

    found = mended(edit)
    assert found.edited_checks == {"ps1-ridge-check": 'check("ps1.ridge", my_ridge)'}
    # Also where it lost its name.
    assert mended(edit, lose_metadata).edited_checks == found.edited_checks


def test_of_an_answer_and_its_untouched_copy_the_answer_counts_and_the_copy_goes():
    found = mended(lambda nb: duplicate(nb, "ps1-ridge", source=text("ps1-ridge")))
    assert is_complete(found)
    assert order(found.notebook) == IDS
    assert "ps1-ridge" in found.remarks[0]


def test_of_two_worked_copies_the_last_counts_and_the_first_still_runs():
    found = mended(lambda nb: duplicate(nb, "ps1-ridge", source="ridge = 2"))
    assert source(found, "ps1-ridge") == "ridge = 2"
    mine = order(found.notebook).index("ps1-ridge") - 1
    assert found.notebook.cells[mine].source == ANSWERS["ps1-ridge"]


@pytest.mark.parametrize("grade_id", IDS)
def test_a_deleted_cell_comes_back_where_it_was(grade_id):
    found = mended(lambda nb: delete(nb, grade_id))
    assert order(found.notebook) == IDS
    assert source(found, grade_id) == text(grade_id)
    assert grade_id in " ".join(found.remarks)
    if grade_id != "ps1-paragraph-rubric":
        assert (grade_id in lost_answers(found)) == (ANSWERS[grade_id] != text(grade_id))


def test_the_last_answer_is_found_though_it_lost_its_name_and_all_after_it_is_gone():
    def change(nb):
        delete(nb, *IDS[IDS.index("ps1-paragraph") + 1 :])
        cell(nb, "ps1-paragraph").update(id="another", metadata={})

    found = mended(change)
    assert source(found, "ps1-paragraph") == ANSWERS["ps1-paragraph"]


def test_an_answer_in_a_cell_of_ones_own_is_not_undone_by_a_stub_that_comes_back():
    found = mended(lambda nb: answer_on_top(nb, "ps1-ridge"))
    assert not lost_answers(found)
    assert source(found, "ps1-ridge").startswith("#")
    assert ANSWERS["ps1-ridge"] in [each.source for each in found.notebook.cells]


def test_an_answer_below_its_check_is_looked_at():
    found = mended(lambda nb: move_below(nb, "ps1-ridge", behind="ps1-time-check"))
    names = order(found.notebook)
    mine = next(at for at, each in enumerate(found.notebook.cells) if each.id.startswith("own"))
    assert names[mine - 1] == "ps1-time-check"
    assert names[mine + 1] == "ps1-ridge-check"


def test_what_uses_one_answer_keeps_its_order_behind_it():
    found = mended(lambda nb: move_below(nb, "ps1-me", behind="ps1-hand-in"))
    assert order(found.notebook)[-2:] == ["ps1-mine-given", "ps1-mine-check"]


def test_a_second_try_below_a_check_does_not_move_it():
    found = mended(lambda nb: nb["cells"].insert(place(nb, "ps1-time-check") + 1, own("ridge = 2")))
    assert [name for name in order(found.notebook) if name in IDS] == IDS


@pytest.mark.parametrize(
    ("grade_id", "kind"), [("ps1-ridge", "markdown"), ("ps1-paragraph", "code")]
)
def test_a_cell_that_became_another_type_is_of_its_own_again(grade_id, kind):
    found = mended(lambda nb: retype(nb, grade_id, kind))
    assert is_complete(found)
    assert "cell type changed" in found.remarks[0]


def test_an_emptied_or_untouched_paragraph_waits_for_nobody():
    for words in ("", " \n", text("ps1-paragraph"), text("ps1-paragraph") + "\n"):
        found = mended(lambda nb, words=words: cell(nb, "ps1-paragraph").update(source=words))
        assert source(found, "ps1-paragraph") == text("ps1-paragraph")
        assert not found.unread_paragraphs


@pytest.mark.parametrize("kind", ["markdown", "code"])
def test_a_paragraph_in_another_cell_is_read_by_a_person(kind):
    found = mended(paragraph_elsewhere, lambda nb: retype(nb, nb["cells"][-1]["id"], kind))
    assert found.unread_paragraphs == ("ps1-paragraph",)
    # nbgrader shows a person what differs from the release.
    assert source(found, "ps1-paragraph") != text("ps1-paragraph")


def test_a_paragraph_in_a_locked_cell_is_read_by_a_person():
    def write(nb):
        words = cell(nb, "ps1-paragraph")["source"]
        cell(nb, "ps1-paragraph")["source"] = text("ps1-paragraph")
        cell(nb, "ps1-paragraph-text")["source"] = [text("ps1-paragraph-text"), "\n\n", *words]

    assert mended(write).unread_paragraphs == ("ps1-paragraph",)


def test_a_picture_in_a_paragraph_is_kept_and_a_script_is_not():
    pictures = {
        "a.png": {"image/png": "aGk=", "text/html": "<script>"},
        "b.svg": {"image/svg+xml": "<svg/>"}, "c.png": {"image/png": "<script>"},
    }  # fmt: skip
    found = mended(lambda nb: cell(nb, "ps1-paragraph").update(attachments=pictures))
    kept = next(each for each in found.notebook.cells if each.id == "ps1-paragraph").attachments
    assert kept == {"a.png": {"image/png": "aGk="}}


def test_text_of_any_kind_comes_through():
    words = "Dürfen 漢字 \U0001f600 \ud800 half"
    found = mended(lambda nb: cell(nb, "ps1-paragraph").update(source=words))
    assert source(found, "ps1-paragraph") == words.replace("\ud800", "\ufffd")
    nbformat.writes(found.notebook).encode()


def test_numbers_that_json_lacks_do_not_matter():
    raw = made().replace(b"{", b'{"nan": NaN, "nan": [1e999], ', 1)
    assert is_complete(restore_notebook(raw, RELEASE))


@pytest.mark.parametrize(("raw", "reason"), [
    (b"", "not JSON"),
    (made()[:-200], "not JSON"),
    (b"[" * 100_000, "too deeply"),
    (b"null", "no readable cells"),
    (b'{"cells": 3}', "no readable cells"),
    (b'{"worksheets": [{"cells": [null]}]}', "no readable cells"),
    (b'{"cells": []}', "nothing from this problem set"),
    (b'{"cells": [{"source": 3}]}', "not text"),
    (json.dumps({"cells": [{"source": "x" * 200_001}]}).encode(), "has more than"),
    (json.dumps({"cells": [{"source": "x" * 200_000}] * 11}).encode(), "characters"),
    (json.dumps({"cells": [{}] * (MOST_CELLS + 1)}).encode(), "cells"),
])  # fmt: skip
def test_what_is_no_notebook_of_this_set_is_refused_with_a_reason(raw, reason):
    with pytest.raises(RefusedError, match=reason):
        restore_notebook(raw, RELEASE)


def test_another_sets_notebook_is_refused():
    other = (ROOT / "exercises/en/ps2/ps2.ipynb").read_bytes()
    # Both ask for "me"; what is found of a set is its own cells.
    with pytest.raises(RefusedError, match="nothing from this problem set"):
        restore_notebook(other, RELEASE)


def test_answers_typed_into_a_new_notebook_are_found():
    typed = [own("import roofkit as rk"), own("me = 'ada'\nridge = 2"), own("bound = 'memory'")]
    found = restore_notebook(json.dumps({"cells": typed}).encode(), RELEASE)
    is_sound(found.notebook, RELEASE)
    sources = [each.source for each in found.notebook.cells]
    assert sources.index("me = 'ada'\nridge = 2") < sources.index(text("ps1-ridge-check"))
    assert sources.index("bound = 'memory'") < sources.index(text("ps1-bound-check"))
    assert not any(name in lost_answers(found) for name in ("ps1-me", "ps1-ridge", "ps1-bound"))
    assert "ps1-time" in lost_answers(found)


def test_a_notebook_made_to_be_slow_is_not():
    filled = [own("a b,c = = (" * 360) for _ in range(MOST_CELLS - len(IDS))]
    raw = made(lambda nb: nb["cells"].extend(filled), lose_metadata)
    assert 1_800_000 < len(raw) < 2_000_000
    start = time.process_time()
    restore_notebook(raw, RELEASE)
    # It takes about a second: no machine needs minutes, but work that grows without bound does.
    assert time.process_time() - start < 300


def mends_or_refuses(raw, release=RELEASE):
    """Whether it was mended; anything but a sound notebook or a refusal is an error."""
    try:
        nb = restore_notebook(raw, release).notebook
    except RefusedError:
        return False
    is_sound(nb, release)
    return True


def mutated(nb, rng):
    """A notebook after a few random changes: cells moved, copied, dropped, filled with rubbish."""
    cells = nb["cells"]
    rubbish = [None, 3, [], {}, "", "x = 1", ["a", 1], "\ud800", 1e999, {"nbgrader": {}}]
    for _ in range(rng.randint(1, 12)):
        at, other = rng.randrange(len(cells)), rng.randrange(len(cells))
        match rng.randrange(7):
            case 0:
                cells.insert(other, cells.pop(at))
            case 1:
                cells.insert(other, json.loads(json.dumps(cells[at])))
            case 2 if len(cells) > 1:
                cells.pop(at)
            case 3:
                cells[at][rng.choice([*cells[at]] or ["source"])] = rng.choice(rubbish)
            case 4:
                cells[at].pop(rng.choice([*cells[at]]), None) if cells[at] else None
            case 5:
                cells[at]["metadata"] = rng.choice(rubbish)
            case 6:
                cells[at]["source"], cells[other]["source"] = (
                    cells[other].get("source", ""),
                    cells[at].get("source", ""),
                )
    return json.dumps(nb).encode()


@pytest.mark.slow("damage of any kind is mended or refused")
@pytest.mark.parametrize("name", SETS)
def test_mutants_of_each_release_are_mended_or_refused(name):
    release = notebook(ROOT, "exercises", name)
    raw = (ROOT / "exercises/en" / name / f"{name}.ipynb").read_bytes()
    rng = random.Random(name)
    kept = 0
    for number in range(100):
        if number % 4:
            kept += mends_or_refuses(mutated(json.loads(raw), rng), release)
        else:
            broken = bytearray(raw)
            for _ in range(rng.randint(1, 20)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            whole = len(broken) if rng.random() < 0.7 else rng.randrange(len(broken))
            kept += mends_or_refuses(bytes(broken[:whole]), release)
    assert 40 < kept < 100
