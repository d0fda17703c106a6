"""What `make test` leaves out on a laptop, and what it must not."""

import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tools"))
import mutants  # noqa: E402


def commands(**settings):
    """What make would do."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "ALL")}
    return subprocess.run(
        ["make", "-n", "test"], cwd=ROOT, env=kept | settings, capture_output=True, text=True
    ).stdout


def test_a_laptop_leaves_slow_tests_out_and_continuous_integration_does_not():
    assert '-m "not slow"' in commands()
    for settings in ({"CI": "true"}, {"ALL": "1"}):
        assert "pytest -n" in commands(**settings)
        assert "slow" not in commands(**settings)


@pytest.mark.parametrize(
    "mark", [pytest.mark.slow, pytest.mark.slow(3), pytest.mark.slow(protects="a kit")]
)
def test_a_slow_test_says_what_it_protects(mark):
    conftest = runpy.run_path(str(ROOT / "tests/conftest.py"))
    item = SimpleNamespace(nodeid="tests/test_x.py::test_x", iter_markers=lambda name: [mark.mark])
    with pytest.raises(pytest.UsageError, match="test_x: the mark slow says what the test protect"):
        conftest["pytest_collection_modifyitems"]([item])


def test_no_test_that_kills_mutants_is_slow():
    files = {ROOT / name for tests in mutants.ROOMS.values() for name in tests}
    for path in {
        file for each in files for file in (each.rglob("*.py") if each.is_dir() else [each])
    }:
        assert "mark.slow" not in path.read_text(encoding="utf-8"), path


def test_no_two_test_files_have_the_same_name():
    # pytest knows a file by its bare name, and stops at the second of one name.
    names = [path.name for path in ROOT.glob("tests/**/test_*.py")]
    assert sorted(names) == sorted(set(names))
