"""The process that measures: runs a plan step by step and prints every result as a line of JSON.

It is a program of its own: ``measure`` starts it as ``python -m roofkit.machine.bench`` with the
number of threads in its environment, where a BLAS reads it
once, when it loads. A plan is the same for every backend; a backend knows how to call its library.
"""

import functools
import importlib
import importlib.metadata
import itertools
import json
import math
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from roofkit import kernels
from roofkit._inputs import itemsize

LADDER = ("add_in_place", "copy", "dot")
MIN_SAMPLE = 1e-3  # seconds: far above what a clock resolves
MAX_SAMPLES = 12
ROUNDS = 2
MAX_COPIES = 1024
BLOCK = 2**18
# Elements between two long vectors: a power of two bytes apart, they meet in the same memory banks.
GAPS = (0, 1040, 33296)


@dataclass(frozen=True)
class Plan:
    """What is measured, and for how long at most.

    ``squares`` are the sizes N of N×N×N matmuls for the peak; ``sizes`` the working sets of the
    ladder in bytes, rising; ``weights`` the (D, F) that each of ``batches`` multiplies, in the
    first ``swept`` dtypes of the backend. The rest are seconds: for one turn of a step of each
    part, and ``limit`` after which none begins.
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
        """The steps for a backend with these dtypes; within a series, the small come first."""
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
    """One measurement: a kernel at a dtype and shape, and the seconds one turn may take."""

    part: str
    kernel: str
    dtype: str
    shape: tuple
    budget: float

    @property
    def title(self):
        """What it is, as JSON carries it."""
        return {"part": self.part, "kernel": self.kernel, "dtype": self.dtype, "shape": self.shape}

    @property
    def series(self):
        """What it shares with the steps that its time can be told from."""
        return self.part, self.kernel, self.dtype

    @property
    def elements(self):
        """Elements that its operands take of a pool."""
        if self.kernel != "matmul":
            return 2 * self.shape[0] + max(GAPS)
        B, D, F = self.shape
        return B * D + D * F

    def cost(self, write_allocate):
        """FLOPs and bytes moved; measure()'s docstring says what is counted."""
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


class NumPy:
    """The CPU through NumPy: matmuls on BLAS's threads, everything else on one."""

    kind, device, library = "cpu", "cpu", "numpy"
    dtypes = ("fp32", "fp64")
    # A store to a line that is in no cache first reads the line.
    write_allocate = 1
    out_of_memory = (MemoryError,)
    _names = {"fp16": "float16", "fp32": "float32", "fp64": "float64"}  # noqa: RUF012

    def __init__(self):
        self.xp = np

    def versions(self):
        return {}

    def name(self):
        return _cpu_name()

    def memory(self):
        """Bytes that may be allocated, or infinity where the system does not say."""
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            return math.inf

    def pool(self, count, dtype):
        """A flat array of random elements: on zeros, some chips draw less power and run faster."""
        block = self.xp.random.default_rng(0).random(min(count, BLOCK), dtype=np.float32) - 0.5
        return self.xp.resize(block.astype(self._names[dtype]), count)

    def empty(self, shape, dtype):
        return self.xp.empty(shape, self._names[dtype])

    def weight(self, flat, D, F, dtype):
        return flat.reshape(D, F)

    def set_up(self, dtype):
        pass

    def matmul(self, x, y, out):
        self.xp.matmul(x, y, out=out)

    def add_in_place(self, a, b):
        self.xp.add(a, b, out=a)

    def copy(self, a, b):
        self.xp.copyto(b, a)

    def dot(self, a, b):
        self.xp.dot(a, b)

    def time(self, calls):
        """Seconds from the first call's start to the last one's end on the device."""
        start = perf_counter()
        for call in calls:
            call()
        return perf_counter() - start


class CuPy(NumPy):
    """An NVIDIA or AMD GPU through CuPy, timed by the GPU's own events."""

    kind, device, library = "gpu", "cuda", "cupy"
    dtypes = ("fp16", "fp32")
    # Full lines are written without reading them.
    write_allocate = 0

    def __init__(self, cupy):
        self.xp = cupy
        self.out_of_memory = (MemoryError, cupy.cuda.memory.OutOfMemoryError)

    def versions(self):
        return {
            "cupy": self.xp.__version__,
            "cuda": str(self.xp.cuda.runtime.runtimeGetVersion()),
        }

    def name(self):
        return self.xp.cuda.runtime.getDeviceProperties(0)["name"].decode()

    def memory(self):
        return self.xp.cuda.runtime.memGetInfo()[0]

    def time(self, calls):
        start, end = self.xp.cuda.Event(), self.xp.cuda.Event()
        start.record()
        for call in calls:
            call()
        end.record()
        end.synchronize()
        return self.xp.cuda.get_elapsed_time(start, end) / 1e3


class Torch:
    """A GPU, or for comparison the CPU, through PyTorch."""

    library = "torch"
    _names = {  # noqa: RUF012
        "fp64": "float64", "fp32": "float32", "tf32": "float32", "bf16": "bfloat16",
        "fp16": "float16", "fp8": "float8_e4m3fn",
    }  # fmt: skip

    def __init__(self, torch, device, threads):
        self.torch, self.device = torch, device
        self.on_gpu = device == "cuda"
        self.kind = "gpu" if self.on_gpu else "cpu"
        self.write_allocate = 0 if self.on_gpu else 1
        self.out_of_memory = (MemoryError, torch.cuda.OutOfMemoryError)
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.dtypes = self._gpu_dtypes() if self.on_gpu else ("fp32", "fp64", "bf16")

    def _gpu_dtypes(self):
        amd = self.torch.version.hip is not None
        capability = (0, 0) if amd else self.torch.cuda.get_device_capability()
        have = [
            *(["bf16"] if amd or capability >= (8, 0) else []), "fp16", "fp32",
            *(["tf32"] if capability >= (8, 0) else []),
        ]  # fmt: skip
        if capability >= (8, 9):
            try:
                self.matmul_fp8(*(self.pool(BLOCK, "fp8")[:256].reshape(16, 16),) * 2, None)
                have.append("fp8")
            except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError):
                pass  # PyTorch's fp8 product is not public and differs between versions
        return tuple(have)

    def versions(self):
        cuda = self.torch.version.cuda or self.torch.version.hip
        return {"torch": self.torch.__version__, **({"cuda": cuda} if cuda else {})}

    def name(self):
        return self.torch.cuda.get_device_name() if self.on_gpu else _cpu_name()

    def memory(self):
        return self.torch.cuda.mem_get_info()[0] if self.on_gpu else NumPy().memory()

    def pool(self, count, dtype):
        where = "cuda" if self.on_gpu else "cpu"
        block = (self.torch.rand(min(count, BLOCK), device=where) - 0.5).to(self._dtype(dtype))
        # Copying bytes works for every dtype; repeating fp8 does not.
        whole = self.torch.empty(count, device=where, dtype=self._dtype(dtype))
        raw, piece = whole.view(self.torch.uint8), block.view(self.torch.uint8)
        for start in range(0, len(raw), len(piece)):
            part = raw[start : start + len(piece)]
            part.copy_(piece[: len(part)])
        return whole

    def empty(self, shape, dtype):
        where = "cuda" if self.on_gpu else "cpu"
        dtype = "bf16" if dtype == "fp8" else dtype
        return self.torch.empty(shape, device=where, dtype=self._dtype(dtype))

    def _dtype(self, dtype):
        return getattr(self.torch, self._names[dtype])

    def weight(self, flat, D, F, dtype):
        # The fp8 product takes its second operand by columns.
        return flat.reshape(F, D).t() if dtype == "fp8" else flat.reshape(D, F)

    def set_up(self, dtype):
        self.torch.set_float32_matmul_precision("high" if dtype == "tf32" else "highest")
        self.matmul = self.matmul_fp8 if dtype == "fp8" else self.matmul_plain

    def matmul_plain(self, x, y, out):
        self.torch.matmul(x, y, out=out)

    def matmul_fp8(self, x, y, out):
        y = y if y.stride(0) == 1 else y.t()
        self.torch._scaled_mm(x, y, self._one, self._one, out_dtype=self.torch.bfloat16)

    @functools.cached_property
    def _one(self):
        return self.torch.ones((), device="cuda" if self.on_gpu else "cpu")

    def add_in_place(self, a, b):
        a.add_(b)

    def copy(self, a, b):
        b.copy_(a)

    def dot(self, a, b):
        self.torch.dot(a, b)

    def time(self, calls):
        if not self.on_gpu:
            return NumPy.time(self, calls)
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for call in calls:
            call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3


def find_backend(device, threads):
    """The backend for a device; ValueError saying what to do where there is none."""
    if device == "cpu":
        return NumPy()
    torch = _import("torch", needs_gpu=device == "auto")
    if device == "torch-cpu":
        if torch is None:
            raise ValueError('device="torch-cpu" needs PyTorch: pip install torch')
        return Torch(torch, device, threads)
    if torch is not None and torch.cuda.is_available():
        return Torch(torch, "cuda", threads)
    cupy = _import("cupy")
    if cupy is not None and _gpus(cupy):
        return CuPy(cupy)
    if device == "auto":
        return NumPy()
    raise ValueError(
        f'device="{device}": neither PyTorch nor CuPy finds a GPU here; install the build of one '
        'that fits your GPU, or measure the CPU: device="cpu"'
    )


def _import(name, needs_gpu=False):
    try:
        # Importing PyTorch takes seconds, and this build cannot see a GPU.
        if needs_gpu and importlib.metadata.version(name).endswith("+cpu"):
            return None
        return importlib.import_module(name)
    except (ImportError, OSError):
        return None


def _gpus(cupy):
    try:
        return cupy.cuda.runtime.getDeviceCount()
    except RuntimeError:  # no driver
        return 0


def calls(backend, step, pool):
    """The step's calls, each on other operands as far as the pool holds them: no cache helps."""
    operation = getattr(backend, step.kernel)
    if step.kernel != "matmul":
        (N,) = step.shape
        gaps = GAPS if max(GAPS) * 64 < N else (0,)
        return [functools.partial(operation, pool[:N], pool[N + gap : 2 * N + gap]) for gap in gaps]
    B, D, F = step.shape
    x, rest = pool[: B * D].reshape(B, D), pool[B * D :]
    out = backend.empty((B, F), step.dtype)
    copies = min(len(rest) // (D * F), MAX_COPIES)
    flats = (rest[i * D * F : (i + 1) * D * F] for i in range(copies))
    return [
        functools.partial(operation, x, backend.weight(flat, D, F, step.dtype), out)
        for flat in flats
    ]


def samples(backend, step, pool):
    """Seconds a call, as measured within the step's budget, and the calls in each sample."""
    start = perf_counter()
    backend.set_up(step.dtype)
    cycle = itertools.cycle(calls(backend, step, pool))
    one = backend.time(itertools.islice(cycle, 1))
    if one < step.budget / 5:
        one = backend.time(itertools.islice(cycle, 1))  # the first one also wakes threads
    repeats = min(max(1, math.ceil(MIN_SAMPLE / max(one, 1e-9))), 10_000)
    taken = []
    while len(taken) < MAX_SAMPLES and (
        not taken or perf_counter() - start + taken[-1] * repeats < step.budget
    ):
        taken.append(backend.time(itertools.islice(cycle, repeats)) / repeats)
    return taken, repeats


def run(plan, backend, emit):
    """Carry out the plan; emit("timing", …) or emit("skipped", …) for every step, at the end.

    Every step comes up twice, seconds apart, so that a burst of other work spoils one turn only.
    """
    begin = perf_counter()
    pools = Pools(backend, plan)
    steps = list(plan.steps(backend.dtypes))
    taken, repeats, reasons = ({step: kept for step in steps} for kept in ((), 1, "time is up"))
    for place, step in enumerate(ROUNDS * steps):
        if perf_counter() - begin > plan.limit:
            break
        emit("step", done=place + 1, steps=ROUNDS * len(steps), **step.title)
        needed = _at_most(step, taken, backend)
        # A warm-up and one sample have to fit.
        if 2 * needed > step.budget:
            reasons[step] = f"would take longer than its {step.budget:g} s"
            continue
        try:
            pool = pools.get(step.dtype)
            if step.elements > len(pool):
                raise MemoryError
            more, repeats[step] = samples(backend, step, pool)
            taken[step] += tuple(more)
        except backend.out_of_memory:
            reasons[step] = "too little memory"
    for step in steps:
        if not taken[step]:
            emit("skipped", **step.title, why=reasons[step])
            continue
        cost = step.cost(backend.write_allocate)
        emit(
            "timing", **step.title, flops=cost.flops, bytes=cost.bytes, calls=repeats[step],
            samples=[float(f"{seconds:.5g}") for seconds in taken[step]],
        )  # fmt: skip


def _at_most(step, taken, backend):
    """What a step would take at the rates of others of its series, seconds; 0 where none is known.

    Of many bounds the lowest counts: one disturbed step must not stop all those after it, nor
    itself.
    """
    cost = step.cost(backend.write_allocate)
    return min(
        (
            _scaled(min(seconds), other.cost(backend.write_allocate), cost)
            for other, seconds in taken.items()
            if seconds and other != step and other.series == step.series
        ),
        default=0,
    )


def _scaled(seconds, before, cost):
    """The time of a cost at the rates of an earlier one: too long, if anything."""
    return seconds * max(
        after / done
        for after, done in ((cost.flops, before.flops), (cost.bytes, before.bytes))
        if done
    )


class Pools:
    """Random elements that all steps of a dtype share, one dtype at a time."""

    def __init__(self, backend, plan):
        self.backend = backend
        self.bytes = min(
            max(*plan.sizes, *(2 * 8 * N * N for N in plan.squares)) + 8 * max(GAPS),
            backend.memory() / 4,
        )
        self.dtype = self.pool = None

    def get(self, dtype):
        if dtype != self.dtype:
            # Freed before the next one is allocated.
            self.dtype = self.pool = None
            self.pool = self.backend.pool(int(self.bytes / itemsize(dtype)), dtype)
            self.dtype = dtype
        return self.pool


def machine(backend, threads):
    """What was measured, as the machine itself states it."""
    return {
        "name": " ".join(backend.name().split()),
        "device": backend.device,
        "library": backend.library,
        "cores": cores(),
        "threads": threads,
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions(backend):
    """Versions of Python, NumPy, its BLAS, and the library that was timed."""
    blas = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        **backend.versions(),
    }


def cores():
    # Those this process may use, which in a container are fewer than the machine's.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu_name():
    if sys.platform == "darwin":
        asked = subprocess.run(
            ["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True
        )
        return asked.stdout.strip() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2]
    except OSError:
        pass
    return platform.processor() or platform.machine()


def main():
    """Read {"device", "threads", "quick", "plan"} from the command line; print lines of JSON."""
    asked = json.loads(sys.argv[1])
    threads = asked["threads"]
    # Whatever a library prints goes elsewhere, so that standard output is JSON alone.
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def emit(event, **content):
        print(json.dumps({"event": event, **content}), file=lines, flush=True)

    try:
        backend = find_backend(asked["device"], threads)
    except ValueError as refusal:
        emit("refused", message=str(refusal))
        return
    plan = Plan(**asked["plan"]) if asked["plan"] else PLANS[backend.kind, asked["quick"]]
    emit("start", machine=machine(backend, threads), versions=versions(backend))
    run(plan, backend, emit)
    emit("end")


if __name__ == "__main__":
    main()
