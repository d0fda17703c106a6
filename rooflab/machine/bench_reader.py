"""Start the measuring process, read its results, and detect when it dies."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
    "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
)  # fmt: skip
STALL_SECONDS = 180  # a process silent for this long is killed; steps take less than a tenth


def read_events(request):
    """Yield the events of a measuring process as they occur; raise RuntimeError if it fails."""
    root = str(Path(__file__).parents[2])
    paths = [path for path in (os.environ.get("PYTHONPATH"), root) if path]
    settings = {
        **os.environ, **dict.fromkeys(THREAD_VARIABLES, str(request["threads"])),
        "PYTHONPATH": os.pathsep.join(paths),
    }  # fmt: skip
    # With -P, Python doesn't import modules from the current folder.
    command = [sys.executable, "-P", "-m", "rooflab.machine.bench_process", json.dumps(request)]
    last = "its start"
    with tempfile.TemporaryFile() as errors:
        worker = subprocess.Popen(
            command, env=settings, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL
        )
        watch = None
        try:
            while True:
                watch = threading.Timer(STALL_SECONDS, worker.kill)
                watch.daemon = True
                watch.start()
                line = worker.stdout.readline()
                watch.cancel()
                if not line.endswith(b"\n"):
                    break
                event = json.loads(line)
                if event["event"] == "step":
                    last = "{part} {kernel} {dtype} {shape}".format_map(event)
                yield event
            code = worker.wait()
            if code:
                errors.seek(0)
                lines = errors.read().decode(errors="replace").strip().splitlines()
                raise RuntimeError(_death_message(code, last, lines))
        finally:
            if watch:
                watch.cancel()
            worker.kill()
            worker.wait()
            worker.stdout.close()


def _death_message(code, last, error_lines):
    reason = f"exit code {code}"
    if code < 0:
        reason = signal.Signals(-code).name
        if reason == "SIGKILL":
            reason += f": out of memory, or no output for {STALL_SECONDS} s"
    last_words = f"; its last output: {error_lines[-1]}" if error_lines else ""
    return f"the measuring process died ({reason}) during {last}{last_words}"


class Progress:
    """The current step, shown as a line in a terminal or a progress bar in a notebook.

    The bar is a display output, because nbgrader treats output to standard error as a failure.
    """

    def __init__(self):
        ipython = sys.modules.get("IPython")
        shell = ipython and ipython.get_ipython()
        self.notebook = hasattr(shell, "kernel")
        self.handle = None

    def show(self, done, label):
        bar = f'<progress value="{done:.3f}"></progress> measuring {label}'
        self._write(f"measuring: {done:4.0%} {label}", bar)

    def end(self):
        self._write("", "")

    def _write(self, text, bar):
        if self.notebook:
            from IPython.display import display

            content = {"text/plain": text, "text/html": bar}
            if self.handle is None:
                self.handle = display(content, raw=True, display_id=True)
            else:
                self.handle.update(content, raw=True)
        elif sys.stderr.isatty():
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
