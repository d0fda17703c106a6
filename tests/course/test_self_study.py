"""What the kit for who learns alone has beside a class's, and what a class's has not."""

import json
from pathlib import Path

import pytest

from tools.kit import build

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def kits(tmp_path_factory):
    """Both kits without their wheels, of a clone in which `make lab` has run."""
    build.write_model_answers(ROOT / "course/answers.json")
    found = []
    for self_study in (False, True):
        found.append(tmp_path_factory.mktemp("kit"))
        build.gather_files(found[-1], self_study)
    return found


def held(kit):
    return {path.relative_to(kit).as_posix() for path in kit.rglob("*") if path.is_file()}


def test_only_the_one_for_self_study_holds_model_answers(kits):
    plain, self_study = kits
    assert held(self_study) - held(plain) == {"course/answers.json"}
    # Nobody who learns alone is asked for an id, or waits for a date.
    assert held(plain) - held(self_study) == {"course/term.toml"}
    models = json.loads((self_study / "course/answers.json").read_text(encoding="utf-8"))
    assert sorted(models) == sorted(path.name for path in (ROOT / "exercises/en").iterdir())
    texts = {cell: text for found in models.values() for cell, text in found.items()}
    assert {*texts} >= {f"ps{number}-paragraph" for number in range(1, 7)}
    for text in texts.values():
        assert len(text) > 500
        assert "SOLUTION" not in text
        for path in filter(Path.is_file, plain.rglob("*")):
            assert text[:60] not in path.read_text(encoding="utf-8"), path


def test_what_holds_them_stays_out_of_version_control():
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "/course/answers.json" in ignored
