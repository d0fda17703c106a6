"""Run a notebook in this Python, without the user's Jupyter settings."""

import contextlib
import os
import tempfile

from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient


@contextlib.contextmanager
def private_client(notebook, **options):
    """Yield a NotebookClient with a new kernel, and the environment to run that kernel in."""
    with tempfile.TemporaryDirectory() as private:
        kernel = AsyncKernelManager(
            # Without kernel folders, since a user's kernel named python3 may be another Python.
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
            # Two kernels that start at once may pick the same TCP port.
            transport="ipc",
            connection_file=f"{private}/kernel.json",
        )
        backend = "module://matplotlib_inline.backend_inline"
        # ROOFKIT_ANSWERS keeps the builder's missed questions out of a lecture.
        own = {"IPYTHONDIR": private, "MPLBACKEND": backend, "ROOFKIT_ANSWERS": ""}
        client = NotebookClient(
            notebook, km=kernel, shutdown_kernel="immediate", startup_timeout=300, **options
        )
        yield client, os.environ | own
