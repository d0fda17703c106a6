"""What the three packages promise: which may import which, what each needs and brings along."""

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

import roofkit as rk

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "roofkit"
# Each package and those that it may import.
PACKAGES = {"roofkit": set(), "roofcheck": {"roofkit"}, "roofgrade": {"roofkit", "roofcheck"}}
PYPROJECTS = {
    name: tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    for name, folder in (
        ("roofkit", ROOT), ("roofcheck", ROOT / "roofcheck"), ("roofgrade", ROOT / "roofgrade"),
    )
}  # fmt: skip

# What stands in neither of these is ring 1.
RING_2 = {"explore", "machine", "plot"}
# What an engineer asks for by name, as in rk.network.
ROOMS = (
    "hardware", "kernels", "machine", "models", "network", "published", "scratchpad", "explore",
    "plot",
)  # fmt: skip
# The command line puts everything together, so it stands outermost.
RING_3 = {"__main__", "commandline"}


def _ring(path):
    top = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return 2 if top in RING_2 else 3 if top in RING_3 else 1


MODULES = [(path, _ring(path)) for path in sorted(PACKAGE.rglob("*.py"))]


def _imports(path):
    """The modules that a file imports anywhere in it, as dotted names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno} imports relatively"
            yield node.module
            if node.module == "roofkit":
                yield from (f"roofkit.{alias.name}" for alias in node.names)


def _ring_of_import(module):
    name = module.split(".")[1] if "." in module else ""
    return 2 if name in RING_2 else 3 if name in RING_3 else 1


def _loaded_by(statement):
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT)
    return set(json.loads(run.stdout))


def test_importing_roofkit_loads_numpy_and_ring_1_alone():
    loaded = _loaded_by("import roofkit") - _loaded_by("import numpy")
    outside = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert outside == {"roofkit"}
    assert not {f"roofkit.{name}" for name in RING_2 | RING_3} & loaded
    assert not {"tomllib", "sympy", "matplotlib", "ipywidgets", "nbgrader"} & loaded


def test_looking_up_a_chip_still_loads_nothing_heavy():
    loaded = _loaded_by("import roofkit; roofkit.chip('H100').roofline('bf16').ridge")
    assert "tomllib" in loaded
    assert not {"sympy", "matplotlib", "ipywidgets", "nbgrader"} & loaded


def test_outer_rings_load_when_first_asked_for():
    loaded = _loaded_by("import roofkit; roofkit.plot.engineering")
    assert {"roofkit.plot", "matplotlib"} <= loaded
    loaded = _loaded_by("import roofkit; roofkit.scratchpad.Scratchpad")
    assert "roofkit.scratchpad" in loaded - _loaded_by("import roofkit")
    assert "matplotlib" not in loaded
    with pytest.raises(AttributeError, match="module 'roofkit' has no attribute 'plots'"):
        _ = rk.plots


def test_an_outer_ring_without_its_packages_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.delitem(sys.modules, "roofkit.plot", raising=False)
    monkeypatch.delitem(vars(rk), "plot", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "roofkit\[plot\]"'):
        _ = rk.plot


def test_each_room_is_an_attribute_and_loads_by_itself():
    code = f"""
import sys, roofkit
start = {{name for name in sys.modules if name.startswith("roofkit")}}
for room in {ROOMS!r}:
    for name in [name for name in sys.modules if name.startswith("roofkit.")]:
        if name not in start:
            del sys.modules[name]
    if "roofkit." + room not in start:
        vars(roofkit).pop(room, None)
    assert getattr(roofkit, room) is sys.modules["roofkit." + room] and room in dir(roofkit)
    # The rooms that draw come last.
    assert "matplotlib" not in sys.modules or room in ("explore", "plot"), room
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize(
    "path", [path for path, ring in MODULES if ring == 1], ids=lambda path: path.name
)
def test_ring_1_imports_numpy_and_the_standard_library_alone(path):
    allowed = {*sys.stdlib_module_names, "numpy", "roofkit"}
    assert {name.split(".")[0] for name in _imports(path)} <= allowed


@pytest.mark.parametrize(("path", "ring"), MODULES, ids=lambda value: getattr(value, "name", value))
def test_no_module_imports_from_a_ring_outside_its_own(path, ring):
    outward = {
        name
        for name in _imports(path)
        if name.split(".")[0] == "roofkit" and _ring_of_import(name) > ring
    }
    assert not outward


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
        met = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                met |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                whole = {f"{node.module}.{alias.name}" for alias in node.names}
                met |= whole & set(modules) or {node.module}
        yield name, met & set(modules) - {name}


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
    assert {"intake", "mend", "sandbox", "judge", "book", "pages", "after"} <= set(rooms)
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
            known = name in {f"{package}/README.md", f"{package}/pyproject.toml"}
            assert known or any(fnmatch.fnmatch(name, pattern) for pattern in patterns), name


def test_at_most_20_names_stand_at_the_top():
    assert len(rk.__all__) <= 20
    public = {name for name in dir(rk) if not name.startswith("_")}
    named = {name for name in public if not inspect.ismodule(getattr(rk, name))}
    assert named == set(rk.__all__)
    assert set(ROOMS) <= public


@pytest.mark.parametrize("room", ["hardware", "machine", "models", "network", "published"])
def test_every_name_of_a_room_exists_and_has_a_docstring(room):
    names = getattr(rk, room).__all__
    assert names
    for name in names:
        assert getattr(getattr(rk, room), name).__doc__, name


def test_every_public_name_exists_and_has_a_docstring_with_an_example():
    for name in rk.__all__:
        public = getattr(rk, name)
        assert public.__doc__, name
    examples = {name for name in rk.__all__ if ">>>" in getattr(rk, name).__doc__}
    assert set(rk.__all__) - examples <= {"chips"}
