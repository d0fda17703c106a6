"""What the packages promise: which may import which, what each needs and brings along."""

import ast
import contextlib
import fnmatch
import graphlib
import inspect
import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import roofcheck
import roofkit as rk
from roofgrade.sandbox.inside import stub
from rooflab import explore, machine, plot, published

ROOT = Path(__file__).parent.parent
# Each package, and those that it may import.
PACKAGES = {
    "roofkit": set(), "rooflab": {"roofkit"}, "roofcheck": {"roofkit", "rooflab"},
    "roofgrade": {"roofkit", "rooflab", "roofcheck"},
}  # fmt: skip
# roofkit's pyproject.toml is that of the repository.
PYPROJECTS = {
    name: tomllib.loads(
        (ROOT / name.replace("roofkit", ".") / "pyproject.toml").read_text(encoding="utf-8")
    )
    for name in PACKAGES
}
# What an engineer asks for by name, as in rk.network.
ROOMS = ("hardware", "kernels", "models", "network")


def _imports(path):
    """The modules that a file imports anywhere in it, as dotted names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from filter(_is_module, names) if any(map(_is_module, names)) else [node.module]


def _is_module(name):
    """Whether a dotted name is a module or a folder of the repository."""
    place = ROOT / name.replace(".", "/")
    return place.is_dir() or place.with_suffix(".py").is_file()


def _loaded_by(statement):
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT)
    return set(json.loads(run.stdout))


def test_importing_roofkit_loads_numpy_alone():
    loaded = _loaded_by("import roofkit") - _loaded_by("import numpy")
    outside = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert outside == {"roofkit"}
    assert not {"tomllib", "roofkit.commandline", "roofkit.models"} & loaded


def test_looking_up_a_chip_still_loads_nothing_heavy():
    loaded = _loaded_by("import roofkit; roofkit.chip('H100').roofline('bf16').ridge")
    assert "tomllib" in loaded
    assert not {"sympy", "matplotlib", "ipywidgets", "nbgrader"} & loaded


def test_each_room_is_an_attribute_and_loads_when_first_asked_for():
    for room in ROOMS:
        loaded = _loaded_by(f"import roofkit; roofkit.{room}")
        assert f"roofkit.{room}" in loaded
        assert "matplotlib" not in loaded
        assert room in dir(rk)
    with pytest.raises(AttributeError, match="module 'roofkit' has no attribute 'plots'"):
        _ = rk.plots


@pytest.mark.parametrize(
    "path", sorted((ROOT / "roofkit").rglob("*.py")), ids=lambda path: path.name
)
def test_roofkit_imports_numpy_and_click_on_its_command_line_alone(path):
    allowed = {*sys.stdlib_module_names, "numpy", "roofkit"}
    if {"commandline", "__main__.py"} & set(path.parts):
        allowed |= {"click"}
    else:
        assert not any(name.startswith("roofkit.commandline") for name in _imports(path))
    assert {name.split(".")[0] for name in _imports(path)} <= allowed


def _modules(package):
    """The modules of a package by their dotted names."""
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_those_before_it_alone(package):
    for name, path in _modules(package):
        met = {imported.partition(".")[0] for imported in _imports(path)} & {*PACKAGES, "tools"}
        assert met <= {package, *PACKAGES[package]}, name


def _arrows(package):
    """Which modules of a package each of its modules imports, in functions too: an arrow that is
    hidden is still an arrow."""
    modules = dict(_modules(package))
    for name, path in modules.items():
        yield name, set(_imports(path)) & set(modules) - {name}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_import_within_a_package_goes_in_a_circle(package):
    graphlib.TopologicalSorter(dict(_arrows(package))).prepare()  # its CycleError names the circle


def test_the_rooms_of_grading_form_no_circle():
    """A folder, or a file beside the folders, is a room: what it needs stands in earlier ones."""
    rooms = {}
    for name, met in _arrows("roofgrade"):
        room, *_ = [*name.split(".")[1:], "__init__"]
        others = {[*other.split(".")[1:], "__init__"][0] for other in met}
        rooms.setdefault(room, set()).update(others - {room})
    assert {"intake", "restore", "sandbox", "judge", "gradebook", "pages"} <= set(rooms)
    graphlib.TopologicalSorter(rooms).prepare()


def test_an_installation_needs_numpy_alone():
    needs = PYPROJECTS["roofkit"]["project"]["dependencies"]
    assert [re.match(r"[\w-]+", need)[0] for need in needs] == ["numpy"]


# The Makefile says why.
NOT_INSTALLED = {"rfc3987-syntax"}


def _needed():
    """The distributions that the packages need, as far as they are installed; each by its name."""
    waiting = [
        Requirement(need)
        for each in PYPROJECTS.values()
        for need in (
            *each["project"].get("dependencies", ()),
            *(need for extra in each["project"].get("optional-dependencies", {}).values()
              for need in extra),
        )
    ]  # fmt: skip
    met = set()
    while waiting:
        need = waiting.pop()
        name, extras = canonicalize_name(need.name), {"", *need.extras}
        if name in PACKAGES or (name, *sorted(extras)) in met:
            continue
        met.add((name, *sorted(extras)))
        with contextlib.suppress(metadata.PackageNotFoundError):
            for line in metadata.requires(name) or ():
                one = Requirement(line)
                if not one.marker or any(one.marker.evaluate({"extra": each}) for each in extras):
                    waiting.append(one)
    return {name for name, *_ in met} - NOT_INSTALLED


def test_the_lock_pins_what_the_packages_need_and_nothing_else():
    """What one platform alone needs has a marker, and is left out here."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = {line.partition("==")[0]: ";" in line for line in lines}
    needed = _needed()
    assert not needed - set(pins), "these are needed: make lock"
    everywhere = {name for name, marked in pins.items() if not marked}
    assert not everywhere - needed, "nothing needs these any more: make lock"


def test_the_packages_have_one_version():
    assert len({each["project"]["version"] for each in PYPROJECTS.values()}) == 1


@pytest.mark.parametrize("package", PACKAGES)
def test_data_files_are_part_of_the_package(package):
    found = PYPROJECTS[package]["tool"]["setuptools"].get("package-data", {})
    patterns = [f"{room.replace('.', '/')}/{each}" for room in found for each in found[room]]
    for path in (ROOT / package).rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".py":
            name = path.relative_to(ROOT).as_posix()
            known = path.suffix == ".md" or name == f"{package}/pyproject.toml"
            # The sources of JupyterLab's extension, and what they are built into, are data files.
            known |= name.startswith(("roofcheck/home/lab/", "roofcheck/home/labextension/"))
            assert known or any(fnmatch.fnmatch(name, pattern) for pattern in patterns), name


def test_at_most_20_names_stand_at_the_top():
    assert len(rk.__all__) <= 20
    public = {name for name in dir(rk) if not name.startswith("_")}
    named = {name for name in public if not inspect.ismodule(getattr(rk, name))}
    assert named == set(rk.__all__)
    assert set(ROOMS) <= public


@pytest.mark.parametrize(
    "module", [rk.hardware, rk.models, rk.network, explore, machine, plot, published]
)
def test_every_name_of_a_room_exists_and_has_a_docstring(module):
    assert module.__all__
    for name in {*module.__all__} - {"COLOURS", "LINES"}:
        assert getattr(module, name).__doc__, name


def test_every_public_name_exists_and_has_a_docstring_with_an_example():
    for name in rk.__all__:
        public = getattr(rk, name)
        assert public.__doc__, name
    examples = {name for name in rk.__all__ if ">>>" in getattr(rk, name).__doc__}
    assert set(rk.__all__) - examples <= {"chips"}


def test_the_graders_stand_in_has_every_name_that_a_notebook_imports_from_roofcheck():
    assert {*roofcheck.__all__} <= {*vars(stub)}
