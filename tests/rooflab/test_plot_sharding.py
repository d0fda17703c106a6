"""Figures of chips that work together: collectives step by step, links, times over chips."""

import re

import pytest
from cases import cases
from matplotlib.colors import to_hex

import roofkit as rk
from roofkit.network import all_pairs, group, line, ring, sharded_matmul, torus
from rooflab import plot


def _states(axes):
    """What each chip holds after each step, as the description tells it: {chip: {piece: parts}}."""
    told = axes[0].roofkit_description.partition(": ")[2].rstrip(".")
    for step in told.split("; "):
        yield {
            chip: {
                int(piece): int(parts or len(axes) + 1)
                for piece, parts in re.findall(r"(\d)(?: \((\d) of \d parts\))?(?: |$)", pieces)
            }
            for chip, pieces in re.findall(r"([A-H]) holds ([^,]*)", step)
        }


@cases("n", [2, 3, 4, 5])
def test_a_gather_hands_every_chip_one_piece_a_step(n):
    states = list(_states(plot.collective("all-gather", n)))
    assert len(states) == n
    for step, state in enumerate(states):
        assert [len(pieces) for pieces in state.values()] == [step + 1] * n


@cases("n", [2, 3, 4, 5])
def test_a_reduce_scatter_leaves_each_chip_its_own_whole_sum(n):
    axes = plot.collective("reduce-scatter", n)
    assert len(axes) == n
    last = axes[0].roofkit_description.partition(f"after step {n - 1}, ")[2]
    assert last == ", ".join(f"{'ABCDE'[chip]} holds {chip}" for chip in range(n)) + "."
    # No part is lost or counted twice on the way: n of each piece at all times.
    for state in list(_states(axes))[:-1]:
        for piece in range(n):
            assert sum(pieces.get(piece, 0) for pieces in state.values()) == n


@cases("n", [2, 3, 4, 5])
def test_an_all_reduce_is_both_in_as_many_steps(n):
    axes = plot.collective("all-reduce", n)
    assert len(axes) == 2 * n - 1
    whole = " ".join(map(str, range(n)))
    last = axes[0].roofkit_description.partition(f"after step {2 * n - 2}, ")[2]
    assert last == ", ".join(f"{'ABCDE'[chip]} holds {whole}" for chip in range(n)) + "."


def test_an_all_to_all_transposes():
    first, *_, last = plot.collective("all-to-all", 4)
    letters = [
        [text.get_text() for text in ax.texts if text.get_color() == "white"]
        for ax in (first, last)
    ]
    assert letters == [list("ABCD" * 4), [letter for letter in "ABCD" for _ in range(4)]]


@cases(("name", "n"), [("gather", 4), ("all-gather", 1), ("all-gather", 6)])
def test_a_collective_that_cannot_be_drawn_is_refused(name, n):
    with pytest.raises(ValueError, match=r"'gather' is not a collective|n must be a whole"):
        plot.collective(name, n)


@cases(
    ("made", "links", "dark"),
    [
        (line(3, 1), 2, 1), (ring(5, 1), 5, 2), (group("TPU v5e", 8), 10, 2),
        (torus((3, 4), 1), 24, 4), (all_pairs(4, 1), 6, 3), (group("H100", 8), 8, 1),
    ],
)  # fmt: skip
def test_links_are_drawn_and_those_of_the_poorest_chip_are_dark(made, links, dark):
    (ax,) = plot.topologies({"x": made})
    arrows = [text.arrow_patch for text in ax.texts]
    assert len(arrows) == links
    assert sum(to_hex(arrow.get_edgecolor()) == plot.COLOURS[0].lower() for arrow in arrows) == dark
    if made.topology != "switch":
        assert made.links == dark


def test_joined_draws_groups_only():
    with pytest.raises(ValueError, match=r"groups\['x'\] must be a Group, got 4"):
        plot.topologies({"x": 4})


def test_times_over_chips_are_those_of_the_sharded_matmul():
    v5e = rk.chip("TPU v5e")
    groups = [group(v5e, n) for n in (1, 2, 4, 8)]
    axes = plot.split_times(v5e.roofline("bf16"), groups, [8192, 65536])
    for ax, D in zip(axes, (8192, 65536), strict=True):
        lines = {each.get_label(): each for each in ax.lines}
        assert {"compute", "memory", "link"} <= set(lines)
        for name in ("compute", "memory", "link"):
            for n, seconds in zip(*lines[name].get_data(), strict=True):
                part = sharded_matmul(1024, D, 8192, group(v5e, int(n)))
                assert seconds == part.estimate(v5e.roofline("bf16")).times[name]
        assert lines["link"].get_xdata().tolist() == [2, 4, 8]
    assert "D = 65536: 5.58 ms on 1 chip, compute-bound" in axes[0].roofkit_description


def test_times_over_chips_refuse_what_is_no_roof_and_no_group():
    roof = rk.chip("TPU v5e").roofline("bf16")
    with pytest.raises(ValueError, match="roof must be a Roofline"):
        plot.split_times("TPU v5e", [line(2, 1)], [8192])
    with pytest.raises(ValueError, match="groups must be Groups"):
        plot.split_times(roof, [2], [8192])


def test_cuts_hold_what_a_chip_has_to_scale():
    axes = plot.matmul_cuts(2, 8, 4, chips=2)
    sides = [
        {(round(p.get_width(), 9), round(p.get_height(), 9)) for p in ax.patches} for ax in axes
    ]
    # Pieces of X, Y and Z, wide by high.
    assert sides[0] == {(8, 1), (4, 8), (4, 1)}
    assert sides[1] == {(8, 2), (2, 8), (2, 2)}
    assert sides[2] == {(4, 2), (4, 4), (4, 2)}
    assert [ax.get_title() for ax in axes] == [f"cut along {each}" for each in "BFD"]
    assert "Z₁ + Z₂ + Z₃" in {
        text.get_text() for text in plot.matmul_cuts(2, 8, 4, along="D", chips=3)[0].texts
    }


def test_the_middle_of_a_pair_lies_where_it_is_needed():
    ax = plot.matmul_pair(2, 4, 12, chips=3)
    names = [text.get_text() for text in ax.texts]
    assert [name for name in names if name[0] in "XUHVZ"] == [
        "X", "U₁", "U₂", "U₃", "H₁", "H₂", "H₃", "V₁", "V₂", "V₃", "Z₁ + Z₂ + Z₃",
    ]  # fmt: skip
    assert names[-6:] == ["B", "D", "D", "F", "F", "D"]


@cases(
    ("math", "link", "blocks", "end"),
    [(2, 2, 1, "4 s"), (2, 2, 4, "2.5 s"), (1, 3, 2, "3.5 s"), (3, 1, 2, "3.5 s")],
)
def test_a_block_is_sent_once_it_is_multiplied_and_the_link_is_free(math, link, blocks, end):
    ax = plot.overlap_blocks(math, link, [blocks])
    assert f"Everything is sent after {end} in {blocks}" in ax.roofkit_description
    # All of it overlaps but the first block's product, or the last one's sending.
    assert float(end.split()[0]) == max(math, link) + min(math, link) / blocks


def test_cuts_and_blocks_refuse_what_they_cannot_draw():
    with pytest.raises(ValueError, match="along='Z' must be the dimension to cut: B, F or D"):
        plot.matmul_cuts(8, 8, 8, along=["Z"])
    for chips in (1, 5, True, 2.0):
        with pytest.raises(ValueError, match="chips must be a whole number from 2 to 4, got"):
            plot.matmul_pair(8, 8, 8, chips=chips)
    with pytest.raises(ValueError, match="B must be one number"):
        plot.matmul_cuts([8], 8, 8)
    for blocks in (0, 1.5, True):
        with pytest.raises(ValueError, match="blocks must be whole numbers of at least 1"):
            plot.overlap_blocks(1, 1, [blocks])
