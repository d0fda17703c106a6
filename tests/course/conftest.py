"""What tests of the course share: the kit as a student unpacks it, set up in an empty home once."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from hidden import SECRET
from opening import opened

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def kit(tmp_path_factory):
    """The kit of a repository in which an instructor keeps things of their own, unpacked."""
    repository = tmp_path_factory.mktemp("repository")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (repository / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, repository / name)
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=repository, check=True)
    for name in ("roofcheck/questions/exam.py", "exercises/en/exam/exam.ipynb", "exam/own.py"):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(f"# {SECRET}\nQUESTIONS = {{}}\n", encoding="utf-8")
    # A class's ids, which git does not list either.
    (repository / "course/term.toml").write_text('ids = "course/ids.txt"\n', encoding="utf-8")
    (repository / "course/ids.txt").write_text("# hashes\n", encoding="utf-8")
    own = {**os.environ, "ROOFKIT_QUESTIONS": str(repository / "exam")}
    pack = [sys.executable, "-m", "tools.kit"]
    done = subprocess.run(pack, cwd=repository, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    archive = Path(done.stdout.split()[-1])
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(archive.parent)
    return archive.with_suffix("")


@pytest.fixture(scope="session")
def environment(kit, tmp_path_factory):
    """The environment that the kit made for itself in an empty home: what it said, how it runs."""
    # Where packages come from is the machine's affair.
    machine = {name: os.environ[name] for name in os.environ if name.startswith(("PIP_", "UV_"))}
    home = tmp_path_factory.mktemp("home")
    own = {**machine, "HOME": str(home), "PATH": os.defpath}

    def started():
        with opened([sys.executable, "start.py"], cwd=kit, env=own) as (address, printed):
            pass
        return address, "".join(printed)

    address, printed = started()
    python = next(path for path in kit.glob(".venv/*/python*") if path.stem == "python")

    def run(*arguments, **options):
        return subprocess.run(
            [python, "-m", *arguments], env=own, capture_output=True, text=True, **options
        )

    return SimpleNamespace(address=address, printed=printed, started=started, run=run)
