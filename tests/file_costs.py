"""What each test file costs in CPU-seconds, and which of them has grown.

Every run writes `build/cpu-seconds.csv`. In continuous integration a file that costs twice what
`tests/cpu-seconds.csv` says, and `SHARED` more, fails the run. Both sides are CPU-seconds, child
processes included, and are compared after the speed of this machine is taken out, so a slow or busy
one fails nothing.
"""

import csv
import os
import statistics
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests/cpu-seconds.csv"
MEASURED = ROOT / "build/cpu-seconds.csv"
# Files that cost at least so much tell how fast a machine is.
LEAST = 4.0
# A file that runs first pays for what all share, such as reading the tables of questions.
SHARED = 6.0


class FileCosts:
    """Counts CPU-seconds by test file, over all workers of a run."""

    def __init__(self, compare):
        self.compare = compare
        self.seconds = Counter()
        self.complaints = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        self.last = cpu_seconds()
        try:
            return (yield)
        finally:
            self.count(item.nodeid.partition("::")[0])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item, nextitem):
        self.count(item.nodeid.partition("::")[0])
        try:
            return (yield)
        finally:
            # A process counts once it has ended: after its last test a worker ends the servers
            # that many files have used.
            if nextitem is None:
                self.count("servers of several files")

    def count(self, file):
        """Add what it cost since the last count to ``file``."""
        now = cpu_seconds()
        self.seconds[file] += now - self.last
        self.last = now

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        self.seconds.update(getattr(node, "workeroutput", {}).get("cpu seconds", {}))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["cpu seconds"] = dict(self.seconds)
            return
        write_costs(MEASURED, self.seconds)
        if self.compare:
            self.complaints = grown_files(self.seconds, read_costs(RECORD))
            if self.complaints and not session.exitstatus:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        total = sum(self.seconds.values())
        terminalreporter.write_line(
            f"The tests took {total:.0f} CPU-seconds; {MEASURED.relative_to(ROOT)} has each file."
        )
        for complaint in self.complaints:
            terminalreporter.write_line(complaint, red=True)
        if self.complaints:
            terminalreporter.write_line(
                "Make them cheaper, or if they are worth it: "
                f"cp {MEASURED.relative_to(ROOT)} {RECORD.relative_to(ROOT)}"
            )


def cpu_seconds():
    """CPU-seconds of this process and of the children it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def grown_files(now, before):
    """A sentence for each file that costs twice what it did, beside what all others cost.

    ``now`` and ``before`` map a file to its CPU-seconds. How much slower this machine is than the
    one of ``before`` is the median ratio of the files that cost enough to tell.
    """
    ratios = [
        now[name] / seconds
        for name, seconds in before.items()
        if seconds >= LEAST and now.get(name)
    ]
    speed = statistics.median(ratios) if ratios else 1.0
    return [
        f"{name} took {seconds:.0f} CPU-seconds; {before[name] * speed:.0f} were expected on this "
        f"machine."
        for name, seconds in sorted(now.items())
        if name in before and seconds > (2 * before[name] + SHARED) * speed
    ]


def read_costs(path):
    """CPU-seconds by file, from a table that ``write_costs`` wrote."""
    with path.open(newline="", encoding="utf-8") as table:
        return {row["file"]: float(row["cpu_seconds"]) for row in csv.DictReader(table)}


def write_costs(path, seconds):
    """Write CPU-seconds by file, the dearest first; those below 0.1 s are left out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as table:
        rows = csv.writer(table, lineterminator="\n")
        rows.writerow(["file", "cpu_seconds"])
        for name, cost in sorted(seconds.items(), key=lambda item: (-item[1], item[0])):
            if cost >= 0.1:
                rows.writerow([name, f"{cost:.1f}"])
