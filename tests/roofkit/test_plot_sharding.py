"""Figures of chips that work together: collectives step by step, links, times over chips."""

import re

import matplotlib.pyplot as plt
import pytest

import roofkit as rk
from roofkit import plot
from roofkit.network import all_pairs, group, line, ring, sharded_matmul, torus


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


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


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_gather_hands_every_chip_one_piece_a_step(n):
    states = list(_states(plot.collective("all-gather", n)))
    assert len(states) == n
    for step, state in enumerate(states):
        assert [len(pieces) for pieces in state.values()] == [step + 1] * n


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_reduce_scatter_leaves_each_chip_its_own_whole_sum(n):
    axes = plot.collective("reduce-scatter", n)
    assert len(axes) == n
    last = axes[0].roofkit_description.partition(f"after {n - 1}, ")[2]
    assert last == ", ".join(f"{'ABCDE'[chip]} holds {chip}" for chip in range(n)) + "."
    # No part is lost or counted twice on the way: n of each piece at all times.
    for state in list(_states(axes))[:-1]:
        for piece in range(n):
            assert sum(pieces.get(piece, 0) for pieces in state.values()) == n


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_an_all_reduce_is_both_in_as_many_steps(n):
    axes = plot.collective("all-reduce", n)
    assert len(axes) == 2 * n - 1
    whole = " ".join(map(str, range(n)))
    last = axes[0].roofkit_description.partition(f"after {2 * n - 2}, ")[2]
    assert last == ", ".join(f"{'ABCDE'[chip]} holds {whole}" for chip in range(n)) + "."


def test_an_all_to_all_transposes():
    first, *_, last = plot.collective("all-to-all", 4)
    letters = [
        [text.get_text() for text in ax.texts if text.get_color() == "white"]
        for ax in (first, last)
    ]
    assert letters == [list("ABCD" * 4), [letter for letter in "ABCD" for _ in range(4)]]


@pytest.mark.parametrize(("name", "n"), [("gather", 4), ("all-gather", 1), ("all-gather", 6)])
def test_a_collective_that_cannot_be_drawn_is_refused(name, n):
    with pytest.raises(ValueError, match=r"no collective is named 'gather'|n must be a whole"):
        plot.collective(name, n)


@pytest.mark.parametrize(
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
    assert sum(arrow.get_linewidth() > 2 for arrow in arrows) == dark
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
