"""The archive that students get: what is in it, what is not, and that it starts."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from hidden import SECRET, solution_lines
from opening import noise

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow("a kit holds all that students need, and no solution")


def contents(kit):
    """Every file of the kit by its name, and those within the wheel."""
    for path in filter(Path.is_file, kit.rglob("*")):
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                for name in wheel.namelist():
                    yield f"wheel/{name}", wheel.read(name).decode(errors="replace")
        elif ".venv" not in path.parts:
            yield path.relative_to(kit).as_posix(), path.read_text(encoding="utf-8")


def test_it_holds_lectures_exercises_and_what_they_need(kit):
    names = {name for name, _ in contents(kit)}
    wanted = [*ROOT.glob("course/en/*.ipynb"), *ROOT.glob("exercises/en/*/*")]
    assert {path.relative_to(ROOT).as_posix() for path in wanted} <= names
    assert {"README.md", "AGENTS.md", "LICENSE", "start.py", "requirements.lock"} <= names
    assert {"course/term.toml", "course/ids.txt"} <= names
    for package in ("roofkit", "rooflab", "roofcheck"):
        for path in (ROOT / package).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            is_data = name.startswith("roofcheck/home/lab/")  # installed for JupyterLab and IPython
            assert is_data or f"wheel/{name}" in names, f"{name}: git does not list it; git add it"
    assert {"wheel/roofkit/hardware/chips.toml", "wheel/roofcheck/words/en.toml"} <= names


def test_it_holds_nothing_of_grading(kit):
    wheels = {name.split("/")[1] for name, _ in contents(kit) if name.startswith("wheel/")}
    packages = {"roofkit", "rooflab", "roofcheck"}
    wheels -= {"roofcheck-0.1.0.data"}  # what Jupyter and IPython find of the course
    assert wheels == packages | {f"{name}-0.1.0.dist-info" for name in packages}
    for name, text in contents(kit):
        if name.endswith((".py", "METADATA", ".lock", ".ipynb")):
            assert "roofgrade" not in text, name
    pins = (kit / "requirements.lock").read_text(encoding="utf-8").lower()
    for heavy in ("nbgrader", "sqlalchemy", "psycopg", "pyseccomp"):
        assert f"{heavy}==" not in pins


def test_it_holds_no_solution_and_nothing_of_an_instructors_own(kit):
    # A shorter line, such as a100 = rk.chip("A100 80GB SXM"), may well stand in a docstring.
    lines = [line for line in solution_lines() if len(line) > 40]
    assert len(lines) > 80
    for name, text in contents(kit):
        assert SECRET not in text, name
        assert "### BEGIN SOLUTION" not in text, name
        assert not name.startswith(("solutions", "tests", "wheel/tests", "tools")), name
        # A lecture's own code may be what a solution builds on; formulas are what checks know.
        if not name.startswith(("course/", "wheel/roofcheck/questions/")):
            assert not [line for line in lines if line in text], name


def test_its_pins_are_the_repositorys(kit):
    def pinned(path):
        return {line.partition(" ;")[0] for line in path.read_text().splitlines()}

    pins = pinned(kit / "requirements.lock")
    assert pins <= pinned(ROOT / "requirements.lock")
    assert not re.search(r"https?:|--index|file:", "\n".join(pins))


def test_the_first_cell_of_a_problem_set_says_where_its_packages_come_from(kit):
    for path in kit.glob("exercises/en/*/*.ipynb"):
        first = nbformat.read(path, as_version=4).cells[0].source
        assert "python3 start.py" in first


def test_a_lone_problem_set_says_at_its_first_code_what_is_missing(kit, tmp_path):
    path = next(kit.glob("exercises/en/*/*.ipynb"))
    code = next(c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code")
    (tmp_path / "lone.py").write_text(code.source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "lone.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert re.search("No module named '(roofkit|roofcheck)'", done.stderr)


def test_an_old_python_is_told_in_a_sentence(kit):
    code = (
        "import runpy, sys; sys.version_info = (3, 10, 9);"
        f"runpy.run_path({str(kit / 'start.py')!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "the course needs 3.11 or later" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_archive_that_was_not_unpacked_whole_is_told_in_a_sentence(kit, tmp_path):
    shutil.copy(kit / "start.py", tmp_path)
    done = subprocess.run(
        [sys.executable, "start.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "Unpack the whole archive" in done.stderr


@pytest.mark.weekly("a kit sets itself up in an empty home, from its own pins alone")
def test_it_sets_itself_up_in_an_empty_home_and_its_problem_sets_run(kit, environment):
    # It opens on the home, which needs no notebook in the address.
    assert re.search(r"\d/lab\?token", environment.address)
    assert "Setting up the course" in environment.printed
    _, printed = environment.started()
    assert "Setting up" not in printed  # what was set up is kept
    assert noise(environment.printed + printed) == []
    convert = ["jupyter", "nbconvert", "--to", "notebook", "--execute", "--stdout"]
    done = environment.run(*convert, "exercises/en/ps2/ps2.ipynb", cwd=kit)
    assert done.returncode == 0, done.stderr
    assert "No answer yet" in done.stdout
