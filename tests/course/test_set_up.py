"""Setting up falls back to pip, and says so, where uv can't be had or fails."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# They stand in for pip and uv, which need a network. Each notes what it was called with.
PIP = """
import os, pathlib, sys
log, arguments = pathlib.Path(os.environ["CALLS"]), sys.argv[1:]
with log.open("a") as file:
    print("pip", *arguments, file=file)
if "--target" in arguments:
    if os.environ["UV"] == "missing":
        sys.exit("no network")
    uv = pathlib.Path(arguments[arguments.index("--target") + 1], "bin/uv")
    uv.parent.mkdir()
    uv.write_text(os.environ["UV"])
    uv.chmod(0o755)
if arguments[-2:] == ["config", "list"]:
    print("global.index-url='https://example.org/simple'")
    print("global.find-links='/a /b'")
    print(":env:.find-links='/c /d'")
"""
UV = """#!/bin/sh
echo uv "$@" "index $UV_DEFAULT_INDEX links $UV_FIND_LINKS" >> "$CALLS"
[ "$1" = cache ] && { echo /; exit; }
"""
WORKS, FAILS = f"{UV}exit 0\n", f"{UV}echo no such wheel >&2; exit 2\n"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A folder in which ``python3 -m venv`` makes an environment whose pip is the one above."""
    (tmp_path / "modules/pip").mkdir(parents=True)
    (tmp_path / "modules/pip/__init__.py").touch()
    (tmp_path / "modules/pip/__main__.py").write_text(PIP, encoding="utf-8")
    (tmp_path / "bin").mkdir()
    write_script(
        tmp_path / "bin/python",
        f'[ "$1" = -c ] || PYTHONPATH={tmp_path}/modules exec {sys.executable} "$@"',
    )
    write_script(
        tmp_path / "bin/python3",
        f'[ "$2" != venv ] || {{ mkdir -p "$3" && cp -R {tmp_path}/bin "$3"; }}',
    )
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    for name in ("UV_DEFAULT_INDEX", "UV_FIND_LINKS", "PYTHON"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def write_script(path, body):
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def run_setup(machine):
    """Run tools/setup.sh; what it printed, and what pip and uv were called with."""
    done = subprocess.run(
        ["sh", "tools/setup.sh", machine / "venv"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (machine / "venv/ready").exists()
    return done.stdout, (machine / "calls").read_text(encoding="utf-8").splitlines()


WANTED = "--no-deps -r requirements.lock -e . -e ./rooflab -e ./roofcheck -e ./roofgrade"


def test_uv_installs_from_where_pip_would(machine, monkeypatch):
    monkeypatch.setenv("UV", WORKS)
    printed, calls = run_setup(machine)
    assert "uv failed" not in printed
    assert "Installed the packages in " in printed
    [installed] = [call for call in calls if call.startswith("uv pip install")]
    assert f"{WANTED} index https://example.org/simple links /c,/d" in installed
    assert not [call for call in calls if call.startswith("pip") and WANTED in call]


def test_pip_installs_where_uv_cannot_be_fetched(machine, monkeypatch):
    monkeypatch.setenv("UV", "missing")
    printed, calls = run_setup(machine)
    assert "uv failed (its message is above), so pip installs the packages" in printed
    assert calls[-1].startswith("pip")
    assert calls[-1].endswith(f"install {WANTED}")


def test_pip_installs_the_kit_where_uv_fails(machine, monkeypatch, capfd):
    monkeypatch.syspath_prepend(ROOT / "tools/kit")
    from tools.kit import start

    monkeypatch.setenv("UV", FAILS)
    monkeypatch.setattr(start, "trust_notebooks", lambda python, folder: None)
    monkeypatch.setattr(
        start.venv, "create", lambda folder, **_: shutil.copytree(machine / "bin", folder / "bin")
    )
    kit = machine / "kit"
    shutil.copytree(ROOT / "tools/packages", kit / ".packages")
    for name in ("requirements.lock", "roofkit.whl", "rooflab.whl", "roofcheck.whl"):
        (kit / name).write_text("numpy==2.0\n", encoding="utf-8")
    python = start.set_up_environment(kit)
    printed = capfd.readouterr().out
    assert "Installing the packages." in printed
    assert "uv failed (its message is above), so pip installs the packages" in printed
    assert "no such wheel" not in printed  # it is on stderr
    last = (machine / "calls").read_text(encoding="utf-8").splitlines()[-1]
    assert last.endswith(
        f"-r {kit}/requirements.lock {kit}/roofcheck.whl {kit}/roofkit.whl {kit}/rooflab.whl"
    )
    assert python == kit / ".venv/bin/python"
