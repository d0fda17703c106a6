"""The libraries that are timed: each calls its kernels and reads its clock."""

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
    """The CPU through NumPy: matmuls on BLAS's threads, everything else on one."""

    kind, device, library = "cpu", "cpu", "numpy"
    dtypes = ("fp32", "fp64")
    # A store to a line that is in no cache first reads that line.
    write_allocate = 1
    out_of_memory = (MemoryError,)
    _names: ClassVar = {"fp16": "float16", "fp32": "float32", "fp64": "float64"}

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
    # A GPU writes full lines without reading them first.
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
    """A GPU through PyTorch, or the CPU, to compare it with NumPy."""

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
    if cupy is not None and _count_gpus(cupy):
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


def _count_gpus(cupy):
    try:
        return cupy.cuda.runtime.getDeviceCount()
    except RuntimeError:  # no driver
        return 0


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
