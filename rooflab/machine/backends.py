"""Libraries that can be timed: NumPy on the CPU, and PyTorch on a GPU or the CPU."""

import functools
import importlib
import importlib.metadata
import math
import os
import platform
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import ClassVar

import numpy as np

BLOCK = 2**18


class NumPy:
    """NumPy on the CPU: matmuls use all threads of BLAS, and everything else uses one."""

    kind, device, library = "cpu", "cpu", "numpy"
    dtypes = ("fp32", "fp64")
    # On a CPU, a store to a line that is not in a cache first reads that line.
    write_allocate = 1
    out_of_memory = (MemoryError,)
    _names: ClassVar = {"fp16": "float16", "fp32": "float32", "fp64": "float64"}

    def versions(self):
        return {}

    def name(self):
        return _cpu_name()

    def memory(self):
        """Return the memory size in bytes, or infinity if the system does not report it."""
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            return math.inf

    def pool(self, count, dtype):
        """Return a flat array of random elements.

        Zeros would let some chips use less power and run faster.
        """
        block = np.random.default_rng(0).random(min(count, BLOCK), dtype=np.float32) - 0.5
        return np.resize(block.astype(self._names[dtype]), count)

    def empty(self, shape, dtype):
        return np.empty(shape, self._names[dtype])

    def weight(self, flat, D, F, dtype):
        return flat.reshape(D, F)

    def set_up(self, dtype):
        pass

    def matmul(self, x, y, out):
        np.matmul(x, y, out=out)

    def add_in_place(self, a, b):
        np.add(a, b, out=a)

    def copy(self, a, b):
        np.copyto(b, a)

    def dot(self, a, b):
        np.dot(a, b)

    def time(self, calls):
        """Return the seconds from the start of the first call to the end of the last."""
        start = perf_counter()
        for call in calls:
            call()
        return perf_counter() - start


class Torch:
    """PyTorch on a GPU, or on the CPU to compare with NumPy."""

    library = "torch"
    _names: ClassVar = {
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
        dtypes = [
            *(["bf16"] if amd or capability >= (8, 0) else []), "fp16", "fp32",
            *(["tf32"] if capability >= (8, 0) else []),
        ]  # fmt: skip
        if capability >= (8, 9):
            try:
                self.matmul_fp8(*(self.pool(BLOCK, "fp8")[:256].reshape(16, 16),) * 2, None)
                dtypes.append("fp8")
            except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError):
                pass  # PyTorch's fp8 matmul is private and differs between versions
        return tuple(dtypes)

    def versions(self):
        cuda = self.torch.version.cuda or self.torch.version.hip
        return {"torch": self.torch.__version__, **({"cuda": cuda} if cuda else {})}

    def name(self):
        return self.torch.cuda.get_device_name() if self.on_gpu else _cpu_name()

    def memory(self):
        return self.torch.cuda.mem_get_info()[0] if self.on_gpu else NumPy().memory()

    def pool(self, count, dtype):
        dtype, device = self._dtype(dtype), "cuda" if self.on_gpu else "cpu"
        block = (self.torch.rand(min(count, BLOCK), device=device) - 0.5).to(dtype)
        # PyTorch cannot repeat fp8 elements, but it can copy bytes of any dtype.
        pool = self.torch.empty(count, device=device, dtype=dtype)
        pool_bytes, block_bytes = pool.view(self.torch.uint8), block.view(self.torch.uint8)
        for start in range(0, len(pool_bytes), len(block_bytes)):
            target = pool_bytes[start : start + len(block_bytes)]
            target.copy_(block_bytes[: len(target)])
        return pool

    def empty(self, shape, dtype):
        dtype = self._dtype("bf16" if dtype == "fp8" else dtype)
        return self.torch.empty(shape, device="cuda" if self.on_gpu else "cpu", dtype=dtype)

    def _dtype(self, dtype):
        return getattr(self.torch, self._names[dtype])

    def weight(self, flat, D, F, dtype):
        # The fp8 matmul needs its second operand in column-major order.
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
    """Return the backend for a device; raise ValueError with advice if there is none."""
    if device == "cpu":
        return NumPy()
    torch = _import("torch", needs_gpu=device == "auto")
    if device == "torch-cpu":
        if torch is None:
            raise ValueError('device="torch-cpu" needs PyTorch: pip install torch')
        return Torch(torch, device, threads)
    if torch is not None and torch.cuda.is_available():
        return Torch(torch, "cuda", threads)
    if device == "auto":
        return NumPy()
    raise ValueError(
        f'device="{device}": PyTorch finds no GPU here. Install the PyTorch build for your GPU, or '
        'measure the CPU with device="cpu"'
    )


def _import(name, needs_gpu=False):
    try:
        # Importing PyTorch takes seconds, and its "+cpu" build cannot see a GPU.
        if needs_gpu and importlib.metadata.version(name).endswith("+cpu"):
            return None
        return importlib.import_module(name)
    except (ImportError, OSError):
        return None


def _cpu_name():
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        name = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        return name or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2]
    except OSError:
        pass
    return platform.processor() or platform.machine()
