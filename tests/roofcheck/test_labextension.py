"""The extension that JupyterLab loads: what is committed is what its sources give."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "roofcheck/home"


def read_files(folder):
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_its_metadata_are_those_of_the_sources():
    built = json.loads((HOME / "labextension/package.json").read_text(encoding="utf-8"))
    load = built["jupyterlab"].pop("_build")["load"]
    assert (HOME / "labextension" / load).is_file()
    assert built == json.loads((HOME / "lab/package.json").read_text(encoding="utf-8"))


def test_its_lock_names_no_registry():
    assert "://" not in (HOME / "lab/yarn.lock").read_text(encoding="utf-8")


@pytest.mark.weekly("the extension in JupyterLab can be built, and is what its source says")
def test_it_is_what_the_sources_build(tmp_path):
    if not shutil.which("npm"):
        reason = "no npm found: install Node.js, with which the extension is built"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    ignored = shutil.ignore_patterns("node_modules", "lib", ".yarn", "__pycache__")
    shutil.copytree(HOME / "lab", tmp_path / "lab", ignore=ignored)
    script = ["sh", ROOT / "tools/extension.sh", tmp_path / "lab", Path(sys.executable).parent]
    subprocess.run(script, check=True)
    assert read_files(tmp_path / "labextension") == read_files(HOME / "labextension")
    shutil.rmtree(tmp_path / "lab")  # hundreds of megabytes, which pytest would keep
