"""Runs a teacher's commands in a course, and tells how much memory any process held meanwhile.

``python watched.py COURSE`` prints JSON: the exit status of each command, and the largest peak of a
process in bytes, with what that process was.
"""

import json
import re
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import psutil

COMMANDS = (
    "ps1 --cell-seconds 10", "table ps1 --all", "feedback ps1", "export ps1", "report ps1",
    "late ps1 --per-day 0.1",
)  # fmt: skip
# Each look reads of every process of the machine, and what a process held at most stays told.
PAUSE = 0.1  # seconds


def main(course):
    statuses, watch = {}, Watch()
    watch.start()
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "roofgrade", *command.split()], cwd=course, capture_output=True
        )
        statuses[command] = done.returncode
    watch.over.set()
    watch.join()
    print(json.dumps({"statuses": statuses, "peak": watch.peak, "whose": watch.whose}))


class Watch(threading.Thread):
    """Looks at every process below this one, again and again."""

    def __init__(self):
        super().__init__()
        self.over, self.peak, self.whose = threading.Event(), 0, ""

    def run(self):
        while not self.over.wait(PAUSE):
            with suppress(psutil.Error):
                for process in psutil.Process().children(recursive=True):
                    with suppress(psutil.Error, OSError, TypeError):
                        status = Path(f"/proc/{process.pid}/status").read_text()
                        held = 1024 * int(re.search(r"^VmHWM:\s+(\d+)", status, re.M)[1])
                        if held > self.peak:
                            self.peak, self.whose = held, " ".join(process.cmdline())[:200]


if __name__ == "__main__":
    main(sys.argv[1])
