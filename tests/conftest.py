"""What all tests share: which run when, skips, costs, and how a run is spread over the cores.

A slow test is marked with what it protects, `@pytest.mark.slow("a deck prints as PDF")`. `make
test` leaves it out and says so; continuous integration and `make test ALL=1` run it. A weekly test,
marked in the same way, protects against changes that others make, looks at every page in a
browser, or costs much and rarely fails; `make weekly` alone runs it. In continuous integration a
skipped test is a failed one.
"""

import os
from collections import Counter

import pytest
from file_costs import ROOT, FileCosts
from hypothesis import settings
from line_budgets import describe_budgets

# What tests answer is not the tester's own.
os.environ["ROOFKIT_ANSWERS"] = ""

# A busy machine is no failure; and what CI tries must not change from run to run.
settings.register_profile("course", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("course")

# The longest come first, or one worker would be left with them in the end.
LONG = (
    "tests/deploy/test_hub.py", "tests/course/test_as_built.py",
    "tests/browser/test_slides.py", "tests/browser/test_site.py", "tests/browser/",
    "tests/course/test_kit.py", "tests/roofgrade/test_fidelity.py", "tests/roofgrade/test_class.py",
    "tests/roofgrade/test_round_trip.py", "tests/roofgrade/test_kill", "tests/roofgrade/sandbox/",
    "tests/roofcheck/", "tests/roofkit/test_cnn.py", "tests/course/", "course/en/",
    "tests/roofkit/",
)  # fmt: skip
# Files that share a kit that is set up, the runs of lectures, or a JupyterLab and its page.
TOGETHER = (
    ("tests/course/test_as_built.py", "tests/browser/test_slides.py"),
    ("tests/course/test_kit.py", "tests/course/test_downloaded_notebooks.py"),
    tuple(
        f"tests/browser/test_{name}.py"
        for name in ("arrival", "chips", "lab", "matmul", "model", "reveals", "times")
    ),
)
# Tests of files where nothing is shared and each takes long.
APART = ("tests/roofgrade/test_kill.py",)
LEFT_OUT = pytest.StashKey[int]()


def pytest_configure(config):
    config.stash[LEFT_OUT] = 0
    # What is on record is the cost of one choice of tests.
    recorded = "CI" in os.environ and config.getoption("markexpr") == "not weekly"
    config.pluginmanager.register(FileCosts(compare=recorded))


def pytest_collection_modifyitems(items):
    def rank(item):
        return next((n for n, name in enumerate(LONG) if item.nodeid.startswith(name)), len(LONG))

    items.sort(key=rank)
    for item in items:
        for mark in (mark for name in ("slow", "weekly") for mark in item.iter_markers(name)):
            if len(mark.args) != 1 or not isinstance(mark.args[0], str):
                raise pytest.UsageError(
                    f"{item.nodeid}: the mark {mark.name} says what the test protects: "
                    f'{mark.name}("a kit ...")'
                )


def pytest_deselected(items):
    for item in items:
        slow, weekly = map(item.get_closest_marker, ("slow", "weekly"))
        item.config.stash[LEFT_OUT] += slow is not None and weekly is None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("CI"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    found = getattr(node, "workeroutput", {}).get("left out", 0)
    node.config.stash[LEFT_OUT] = max(found, node.config.stash[LEFT_OUT])


def pytest_terminal_summary(terminalreporter, config):
    # Continuous integration runs these again, once the tools that they want are there.
    skipped = ROOT / "build/skipped.txt"
    skipped.parent.mkdir(exist_ok=True)
    reports = terminalreporter.stats.get("skipped", [])
    skipped.write_text("".join(f"{report.nodeid}\n" for report in reports), encoding="utf-8")
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason}", yellow=True)
    terminalreporter.write_line(describe_budgets())
    if count := config.stash[LEFT_OUT]:
        terminalreporter.write_line(
            f"{count} slow tests were left out: CI runs them, and so does make test ALL=1."
        )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadFileScheduling

    class ByWhatIsShared(LoadFileScheduling):
        """Tests that share something go to one worker, which sets it up once."""

        def _split_scope(self, nodeid):
            for files in TOGETHER:
                if nodeid.startswith(files):
                    return " ".join(files)
            return nodeid if nodeid.startswith(APART) else super()._split_scope(nodeid)

    return ByWhatIsShared(config, log) if config.getvalue("dist") == "loadfile" else None
