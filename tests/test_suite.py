"""The suite itself: no test of the mutants is left out, and a file that grows is noticed."""

import sys
from pathlib import Path

from file_costs import grown_files

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tools"))
import mutants  # noqa: E402


def test_no_test_that_kills_mutants_is_slow():
    files = {ROOT / name for tests in mutants.ROOMS.values() for name in tests}
    for path in {
        file for each in files for file in (each.rglob("*.py") if each.is_dir() else [each])
    }:
        assert "mark.slow" not in path.read_text(encoding="utf-8"), path


def test_a_file_that_doubles_is_noticed_on_a_machine_of_any_speed():
    before = {"tests/a.py": 10.0, "tests/b.py": 20.0, "tests/c.py": 6.0, "tests/d.py": 0.5}
    for slower in (0.5, 1, 3):
        now = {name: slower * seconds for name, seconds in before.items()}
        assert grown_files(now, before) == []
        (complaint,) = grown_files(now | {"tests/c.py": slower * 18.5}, before)
        assert "tests/c.py" in complaint
        assert grown_files(now | {"tests/new.py": slower * 7}, before) == []
        assert grown_files(now | {"tests/d.py": slower * 2}, before) == []
