"""Kernels and all-reduces that others timed on real GPUs, as tables.

Source: the kernel and network profiles published with the vidur simulator
(https://github.com/microsoft/vidur, commit 7d47513, data/profiling), about 30 token counts for each
shape. MIT licence, which lies beside the tables.

Each function gives a NumPy structured array, a row a kernel: ``runs["B"]`` is a column,
``runs[runs["gpu"] == "h100"]`` the rows of one GPU. All work in 16 bits. ``microseconds`` is the
median of several runs, by a profiler's clock of whole microseconds, so that each may be half of one
off. It is the time that a kernel is at work on the GPU; what the CPU takes to launch it comes on
top. The profiles name the GPUs as ``a100`` and ``h100`` and no exact card; the course compares them
with the A100 80GB SXM and the H100 SXM.
"""

from pathlib import Path

import numpy as np

__all__ = ["all_reduces", "elementwise", "matmuls"]


def matmuls():
    """Give 3,840 linear layers X[B, D] · W[D, F] of language models, as PyTorch runs them.

    Columns: ``gpu``, ``model``, ``op``, ``tp`` (the layer is one of so many tensor-parallel
    shares), ``B`` tokens, ``D``, ``F``, and the median time in ``microseconds``.

    >>> runs = matmuls()
    >>> layer = runs[(runs["gpu"] == "h100") & (runs["D"] == 8192) & (runs["F"] == 2560)]
    >>> float(layer["microseconds"][layer["B"] == 64][0])
    21.0
    """
    return _read_table("matmuls")


def elementwise():
    """Give 2,880 kernels around linear layers, a few operations for each number and no reuse.

    Columns: ``gpu``, ``model``, ``op``, ``tp``, ``rows`` (the tokens), ``width`` (the numbers of a
    row), and the median time in ``microseconds``. An op is ``add`` (the residual addition x + y),
    ``mlp_act`` (the gated activation silu(g) · u) or ``input_layernorm`` (for these models an
    RMSNorm).

    >>> runs = elementwise()
    >>> token = runs[(runs["gpu"] == "h100") & (runs["op"] == "add") & (runs["rows"] == 1)]
    >>> float(np.median(token["microseconds"]))
    1.0
    """
    return _read_table("elementwise")


def all_reduces():
    """Give 390 all-reduces between whole GPUs.

    Columns: ``node``, ``gpus``, ``gpus_per_node`` (16 GPUs are two nodes of 8), ``bytes`` of the
    array, and the median time in ``microseconds``. The nodes ``a100_dgx`` and ``h100_dgx`` have an
    NVSwitch, ``a100_pairwise_nvlink`` and ``h100_pairwise_nvlink`` only NVLink between the two GPUs
    of a pair. The profiles do not say which network joins two nodes, nor which bus two pairs.

    >>> runs = all_reduces()
    >>> eight = runs[(runs["node"] == "h100_dgx") & (runs["gpus"] == 8)]
    >>> float(eight["microseconds"][eight["bytes"] == 18432][0])
    29.0
    """
    return _read_table("all_reduces")


def _read_table(name):
    file = Path(__file__).with_name(f"{name}.csv")
    return np.genfromtxt(file, delimiter=",", names=True, dtype=None, encoding="utf-8")
