"""Measurement plans. Every backend runs the same steps."""

import itertools
from dataclasses import dataclass

from roofkit import kernels

LADDER = ("add_in_place", "copy", "dot")
# Gaps between two long vectors, in elements. If their distance were a power of two bytes, both
# would use the same memory banks.
GAPS = (0, 1040, 33296)


@dataclass(frozen=True)
class Plan:
    """What to measure, and for how long.

    ``squares`` are the sizes N of the N×N×N matmuls that measure the peak. ``sizes`` are the
    working sets of the ladder in bytes, in ascending order. The sweep multiplies every batch in
    ``batches`` by every (D, F) in ``weights``, in the first ``swept`` dtypes of the backend.
    ``overhead``, ``ladder``, ``peak`` and ``sweep`` limit the seconds that one run of such a step
    may take. No step starts after ``limit`` seconds.
    """

    squares: tuple
    sizes: tuple
    weights: tuple
    batches: tuple
    swept: int
    peak: float
    ladder: float
    sweep: float
    limit: float
    overhead: float = 0.1

    def steps(self, dtypes):
        """Yield the steps for a backend with these dtypes, smallest first in each series."""
        yield Step("overhead", "add_in_place", "fp32", (1,), self.overhead)
        yield Step("overhead", "matmul", "fp32", (1, 1, 1), self.overhead)
        for kernel, size in itertools.product(LADDER, self.sizes):
            yield Step("ladder", kernel, "fp32", (size // 8,), self.ladder)
        for place, dtype in enumerate(dtypes):
            for N in self.squares:
                yield Step("peak", "matmul", dtype, (N, N, N), self.peak)
            if place < self.swept:
                for (D, F), B in itertools.product(self.weights, self.batches):
                    yield Step("sweep", "matmul", dtype, (B, D, F), self.sweep)


@dataclass(frozen=True)
class Step:
    """One measurement: a kernel, its dtype and shape, and the seconds that one run may take."""

    part: str
    kernel: str
    dtype: str
    shape: tuple
    budget: float

    @property
    def title(self):
        """The fields that identify the step in JSON."""
        return {"part": self.part, "kernel": self.kernel, "dtype": self.dtype, "shape": self.shape}

    @property
    def series(self):
        """Part, kernel and dtype. The time of a step gives estimates for others in its series."""
        return self.part, self.kernel, self.dtype

    @property
    def elements(self):
        """The number of pool elements that the operands occupy."""
        if self.kernel != "matmul":
            return 2 * self.shape[0] + max(GAPS)
        B, D, F = self.shape
        return B * D + D * F

    def cost(self, write_allocate):
        """Return the Cost of one call, counted as the docstring of ``measure`` describes."""
        if self.kernel == "matmul":
            out = "bf16" if self.dtype == "fp8" else None
            return kernels.matmul(*self.shape, self.dtype, out_dtype=out)
        (N,) = self.shape
        if self.kernel == "dot":
            return kernels.dot(N, self.dtype)
        if self.kernel == "add_in_place":
            return kernels.elementwise(N, self.dtype, reads=2)
        return kernels.elementwise(N, self.dtype, flops_per_element=0, reads=1 + write_allocate)


def _powers(first, last, step=1):
    return tuple(2**n for n in range(first, last + 1, step))


PLANS = {
    ("cpu", False): Plan(
        squares=_powers(8, 12),
        sizes=_powers(14, 29),
        weights=((512, 512), (1024, 4096), (2048, 2048), (4096, 4096)),
        batches=_powers(0, 10),
        swept=2, peak=0.8, ladder=0.12, sweep=0.35, limit=48,
    ),
    ("cpu", True): Plan(
        squares=_powers(9, 11),
        sizes=_powers(14, 28, 2),
        weights=((512, 512), (2048, 2048)),
        batches=_powers(0, 10, 2),
        swept=1, peak=0.25, ladder=0.06, sweep=0.12, limit=6,
    ),
    ("gpu", False): Plan(
        squares=_powers(10, 14),
        sizes=_powers(14, 31),
        weights=((1024, 1024), (2048, 8192), (4096, 4096), (8192, 8192)),
        batches=_powers(0, 12),
        swept=2, peak=0.4, ladder=0.1, sweep=0.2, limit=40,
    ),
    ("gpu", True): Plan(
        squares=_powers(11, 13),
        sizes=_powers(14, 30, 2),
        weights=((1024, 1024), (8192, 8192)),
        batches=_powers(0, 12, 2),
        swept=1, peak=0.15, ladder=0.05, sweep=0.08, limit=6,
    ),
}  # fmt: skip
