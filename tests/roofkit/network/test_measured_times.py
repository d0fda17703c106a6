"""Collectives that others timed: none may beat the bound of the chips and links that they ran on.

Bounds are those that roofkit gives unless asked for others: switches add up wherever they can.
"""

import csv
from pathlib import Path

import pytest
from cases import cases

import roofkit as rk
from roofkit.network import Group, all_gather, all_reduce, all_to_all, reduce_scatter

ROOT = Path(__file__).parents[3]
COLLECTIVES = {
    "all_gather": all_gather, "all_reduce": all_reduce, "alltoall": all_to_all,
    "reduce_scatter": reduce_scatter,
}  # fmt: skip

# Cards and buses are the fastest of their time; the profiles do not say which they are.
INFINIBAND_HDR, PCIE4, PCIE5 = 25e9, 31e9, 63e9


def _rows(path):
    with (ROOT / path).open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def _group_of(node, gpus, per_node):
    chip = "A100 80GB SXM" if node.startswith("a100") else "H100"
    if not node.endswith("pairwise_nvlink"):
        nodes = gpus // per_node
        return rk.group(chip, per_node, nodes=nodes, card=INFINIBAND_HDR if nodes > 1 else None)
    pair = Group("all-pairs", (2,), 300e9)
    bus = PCIE4 if node.startswith("a100") else PCIE5
    return pair if gpus == 2 else Group("all-pairs", (2,), 300e9, nodes=gpus // 2, card=bus)


def _profiled(**how):
    """Seconds and the bound's of the published all-reduces, in order, by node and GPUs."""
    found = {}
    for row in _rows("rooflab/published/all_reduces.csv"):
        key = (row["node"], int(row["gpus"]), int(row["gpus_per_node"]))
        bound = all_reduce(float(row["bytes"]), _group_of(*key), **how).seconds
        found.setdefault(key, []).append((float(row["microseconds"]) * 1e-6, bound))
    return found


def test_no_profiled_all_reduce_beats_the_bound():
    found = _profiled()
    assert sum(map(len, found.values())) == 390
    # Even without allowing for the half by which a clock of whole microseconds may be behind.
    assert all(seconds > bound for times in found.values() for seconds, bound in times)


def test_large_profiled_all_reduces_come_near_the_bound_of_the_links_alone():
    """They were taken without sums in the switch, as far as their speed tells."""
    last = {key: times[-1] for key, times in _profiled(in_network=False).items()}
    for key in (
        ("a100_dgx", 8, 8), ("h100_dgx", 8, 8), ("h100_dgx", 4, 4),
        # A pair has nothing but its bridge; two pairs wait for the bus between them.
        ("a100_pairwise_nvlink", 2, 2),
    ):  # fmt: skip
        seconds, bound = last[key]
        assert bound < seconds < 2 * bound


def _library():
    """The GPU, the collective, seconds, and the bound's, of each row of today's NCCL."""
    for row in _rows("tests/data/gpu/library-collectives.csv"):
        gpus, op = int(row["gpus"]), row["op"]
        size = 2 * float(row["message_elements"]) * (gpus if op == "alltoall" else 1)
        bound = COLLECTIVES[op](size, rk.group(row["gpu"], gpus)).seconds
        yield row["gpu"], op, gpus, float(row["microseconds"]) * 1e-6, bound


def test_no_collective_of_todays_library_beats_the_bound():
    rows = list(_library())
    assert len(rows) == 504
    assert {op for _, op, *_ in rows} == set(COLLECTIVES)
    # Even without allowing for the hundredths of a microsecond that they are printed to.
    for gpu, op, gpus, seconds, bound in rows:
        assert seconds > bound, (gpu, op, gpus, seconds)


def test_large_collectives_of_todays_library_come_near_the_bound():
    """A bound that anything would keep says nothing: half a gigabyte takes 1.3 to 2 of this one."""
    nearest = {}
    for gpu, op, gpus, seconds, bound in _library():
        nearest[gpu, op, gpus] = min(nearest.get((gpu, op, gpus), 99), seconds / bound)
    assert len(nearest) == 2 * 4 * 3
    assert max(nearest.values()) < 2.1
    # Sums in the switch, of eight GPUs, take 1.77 of it, more than anything else among eight.
    for gpu in ("A100 80GB SXM", "H100 SXM"):
        for op in COLLECTIVES:
            adds = gpu == "H100 SXM" and op == "all_reduce"
            assert nearest[gpu, op, 8] < (1.8 if adds else 1.5)


def _seconds(bus, size, chips):
    """The time of an all-reduce of which nccl-tests prints this bus bandwidth, in GB/s."""
    return 2 * (chips - 1) / chips * size / (bus * 1e9)


# Bus bandwidths above the 450 GB/s that go out of an H100 or an H200 over its links.
@cases("bus", [475, 476, 480])
@cases("chip", ["H100", "H200"])
def test_bus_bandwidths_of_sums_in_the_switch_beat_the_links_alone_and_not_the_bound(chip, bus):
    """What maintainers of NCCL expect of eight: NVIDIA/nccl-tests, issues 212 (480), 290 (476)."""
    eight, size = rk.group(chip, 8), 8 * 2**30
    seconds = _seconds(bus, size, 8)
    assert seconds < all_reduce(size, eight, in_network=False).seconds
    assert seconds > all_reduce(size, eight).seconds
    # Counted as nccl-tests counts, the bound is a bus bandwidth of 700 GB/s.
    assert _seconds(700, size, 8) == pytest.approx(all_reduce(size, eight).seconds)


def test_a_rack_of_72_stays_behind_the_bound():
    """Bytes and microseconds of a GB200 NVL72: coreweave/nccl-tests, pull request 43."""
    rack = rk.group("GB200", 72)
    for size, microseconds in ((2**29, 1806.7), (2**30, 2924.7), (2**32, 10094), (2**33, 20006)):
        assert microseconds * 1e-6 > all_reduce(size, rack).seconds
