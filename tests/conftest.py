"""What all tests share: in continuous integration a skipped test is a failed one."""

import os

import pytest
from hypothesis import settings

# What tests answer is not the tester's own.
os.environ["ROOFKIT_ANSWERS"] = ""

# A busy machine is no failure; and what CI tries must not change from run to run.
settings.register_profile("course", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("course")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("CI"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"


# The longest files first, or one worker would be left with them in the end.
LONG = (
    "roofgrade/test_round_trip.py", "roofgrade/test_kill.py", "roofgrade/test_fidelity.py",
    "roofcheck/test_tables.py", "roofgrade/sandbox/", "course/test_kit.py",
    "roofgrade/test_class.py", "browser/",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    def rank(item):
        return next((n for n, name in enumerate(LONG) if f"tests/{name}" in item.nodeid), len(LONG))

    items.sort(key=rank)
