"""Published timings of kernels and all-reduces on real GPUs, as tables.

Source: the kernel and network profiles published with the vidur simulator
(https://github.com/microsoft/vidur, commit 7d47513, data/profiling), reduced to about 30 token
counts per shape. The MIT licence is in the same folder as the tables.

Each function returns a NumPy structured array with one row per kernel: ``runs["B"]`` is a column,
and ``runs[runs["gpu"] == "h100"]`` has the rows of one GPU; ``machine`` is ours. All use 16 bits.
``microseconds`` is the median GPU time of several runs, without the launch on the CPU. It may be
off by half a microsecond, as the profiler counts whole ones. The profiles name the GPUs only
``a100`` and ``h100``; the course compares them with the A100 80GB SXM and the H100 SXM.
"""

from pathlib import Path

import numpy as np

__all__ = ["all_reduces", "elementwise", "interpolate_fetch", "machine", "matmuls"]


def machine():
    """Return our Measurements of two cores of an AMD EPYC: ``measure()``, 28 November 2026."""
    from rooflab.machine import Measurements

    return Measurements.load(Path(__file__).with_name("two-cores.json"))


def matmuls():
    """Return timings of 3,840 linear layers X[B, D] · W[D, F] of language models in PyTorch.

    Columns: ``gpu``, ``model``, ``op``, ``tp`` (the number of GPUs that split the layer), ``B``
    tokens, ``D``, ``F``, and the median time in ``microseconds``.

    >>> runs = matmuls()
    >>> layer = runs[(runs["gpu"] == "h100") & (runs["D"] == 8192) & (runs["F"] == 2560)]
    >>> float(layer["microseconds"][layer["B"] == 64][0])
    21.0
    """
    return _read_table("matmuls")


def interpolate_fetch(size):
    """Return the seconds that an H100 took to multiply one token by a matrix of ``size`` bytes.

    Interpolates linearly between the matrices in ``matmuls``, of 4 to 805 MB. Broadcasts over
    arrays.
    """
    runs = matmuls()
    runs = runs[(runs["gpu"] == "h100") & (runs["B"] == 1)]
    sizes = 2.0 * runs["D"] * runs["F"]
    order = np.argsort(sizes, kind="stable")
    return 1e-6 * np.interp(size, sizes[order], runs["microseconds"][order])


def elementwise():
    """Return timings of 2,880 kernels between linear layers, with few operations per number.

    Columns: ``gpu``, ``model``, ``op``, ``tp``, ``rows`` (tokens), ``width`` (numbers in a row),
    and the median time in ``microseconds``. An op is ``add`` (the residual addition x + y),
    ``mlp_act`` (the gated activation silu(g) · u) or ``input_layernorm`` (in these models an
    RMSNorm).
    """
    return _read_table("elementwise")


def all_reduces():
    """Return timings of 390 all-reduces between GPUs.

    Columns: ``node``, ``gpus``, ``gpus_per_node`` (16 GPUs are two nodes of 8), ``bytes`` of the
    array, and the median time in ``microseconds``. The nodes ``a100_dgx`` and ``h100_dgx`` have an
    NVSwitch; in ``a100_pairwise_nvlink`` and ``h100_pairwise_nvlink``, NVLink connects only the
    GPUs of a pair. The profiles do not name the network between nodes or the bus between pairs.
    """
    return _read_table("all_reduces")


def _read_table(name):
    file = Path(__file__).with_name(f"{name}.csv")
    return np.genfromtxt(file, delimiter=",", names=True, dtype=None, encoding="utf-8")
