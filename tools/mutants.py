"""Change the files that hold numbers in one place at a time, and name the changes no test notices.

    python tools/mutants.py                       40 changes drawn from all of them
    python tools/mutants.py --targeted --number 0 every change where counts are subtle
    python tools/mutants.py --seed 2 --number 100 roofkit/network

A mutant changes an operator, a comparison, a constant, a flag or a name, drops a term or turns a
condition round. It is killed where a test of its room fails or lasts too long. tools/equivalent.txt
lists those that change nothing that could be noticed, each with the reason.
"""

import argparse
import ast
import contextlib
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
# Each room of numbers and the tests that know it, likely killers first.
ROOMS = {
    "roofkit/models/configs.py": ["tests/oracles/test_transformers.py", "tests/test_llm.py"],
    "roofkit/models/cnn": ["tests/oracles/test_cnn_counting.py", "tests/test_cnn.py"],
    "roofkit/models": [
        "tests/oracles/test_counting.py", "tests/test_llm.py",
        "tests/oracles/test_cnn_counting.py", "tests/oracles/test_transformers.py",
    ],
    "roofkit/network": ["tests/oracles/test_wiring.py", "tests/network"],
    "roofkit/hardware": ["tests/test_hardware.py", "tests/network/test_groups.py"],
    "roofkit/roofline.py": ["tests/test_roofline.py", "tests/test_kernels.py"],
    "roofkit/kernels.py": ["tests/test_kernels.py"],
    "roofkit/machine/calibration.py": ["tests/test_machine.py"],
}  # fmt: skip
TARGETED = re.compile(
    r"act(ivation)?_|expert|touched|missed|visits|router|routed|shared|summed|qk_norm|positions|"
    r"placed|kv_heads|kv_dim|split|memory|held|widest|stored|parameters",
    re.IGNORECASE,
)
SWAPS = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "*",
    ast.Pow: "*", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=",
    ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
CALLS = {"larger": "smaller", "smaller": "larger", "max": "min", "min": "max", "ceil": "floor"}
# What is shown, said or declared is not what is counted.
PASSED_OVER = ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert
SHOWN = re.compile(r"_repr|__repr__|_said|_shown|_listed|_cells|_rows|_columns|_table|to_csv")
HEAVY = ("numpy", "pytest", "hypothesis", "sympy", "scipy.optimize", "torch.utils.flop_counter", "transformers.modeling_utils")


class Mutant(NamedTuple):
    path: str
    line: int
    start: int
    end: int
    new: bytes


def mutants(path, source):
    """Every change of a file, as a Mutant."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node):
        return (
            starts[node.lineno - 1] + node.col_offset,
            starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def text(node):
        start, end = place(node)
        plain = isinstance(node, ast.Name | ast.Constant | ast.Attribute | ast.Call)
        return source[start:end] if plain else b"(" + source[start:end] + b")"

    def change(node, new, span=None):
        start, end = span or place(node)
        line = source.count(b"\n", 0, start) + 1
        return Mutant(path, line, start, end, new if isinstance(new, bytes) else new.encode())

    def others(node, names):
        """What could stand in a name's place: the next of its kind in the function."""
        known = sorted(names)
        if node in names and len(names) > 1:
            return known[(known.index(node) + 1) % len(known)]

    def of(node, names, attributes):
        match node:
            case ast.BinOp(left, op, right):
                between = place(left)[1], place(right)[0]
                operator = re.search(rb"\*\*|//|[-+*/%]", source[slice(*between)])
                if type(op) in SWAPS and operator:
                    at = between[0] + operator.start()
                    yield change(node, SWAPS[type(op)], (at, between[0] + operator.end()))
                    yield change(node, text(left))
                if isinstance(op, ast.Add | ast.Mult):
                    yield change(node, text(right))
            case ast.Compare(left, [op], [right]):
                yield change(node, b" ".join((text(left), SWAPS[type(op)].encode(), text(right))))
            case ast.BoolOp(op, values):
                word = b" or " if isinstance(op, ast.And) else b" and "
                yield change(node, b"(" + word.join(map(text, values)) + b")")
            case ast.UnaryOp(ast.Not() | ast.USub(), operand):
                yield change(node, text(operand))
            case ast.IfExp(_, body, orelse):
                yield change(node, text(body))
                yield change(node, text(orelse))
            case ast.If(test) | ast.While(test):
                yield change(test, b"not " + text(test))
            case ast.Constant(bool() as value):
                yield change(node, str(not value))
            case ast.Constant(int() | float() as value):
                yield change(node, repr(value + 1))
            case ast.Call(ast.Name(name) as called) if name in CALLS:
                yield change(called, CALLS[name])
            case ast.Attribute(ast.Name(base), name, ast.Load()):
                if other := others(name, attributes.get(base, ())):
                    yield change(node, f"{base}.{other}")
            case ast.Name(name, ast.Load()) if name in names:
                if other := others(name, names):
                    yield change(node, other)

    def walk(node, names, attributes):
        if isinstance(node, PASSED_OVER):
            return
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            if SHOWN.search(getattr(node, "name", "")):
                return
            names, attributes = _used(node)
        yield from of(node, names, attributes)
        for name, child in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "names"):
                continue
            for each in child if isinstance(child, list) else [child]:
                if isinstance(each, ast.AST):
                    yield from walk(each, names, attributes)

    yield from walk(ast.parse(source), set(), {})


def _used(function):
    """The names that a function computes with, and the attributes it asks of each name."""
    names, attributes = set(), {}
    called = {id(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if id(node) not in called:
                attributes.setdefault(node.value.id, set()).add(node.attr)
        elif isinstance(node, ast.BinOp):
            names |= {side.id for side in (node.left, node.right) if isinstance(side, ast.Name)}
    return names, attributes


def tests_of(path):
    room = next(room for room in ROOMS if path.startswith(room))
    return *(test for test in ROOMS[room] if (ROOT / test).exists()), room.removesuffix("/cnn")


def outcome(tree, tests, limit):
    """Runs tests on a tree in a process of its own, where all that is heavy is loaded already."""
    child = os.fork()
    if not child:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        os.setpgid(0, 0)
        os.chdir(tree)
        sys.path.insert(0, str(tree))
        how = ["-xq", "-p", "no:cacheprovider", "-o", "addopts=", "--doctest-modules"]
        # One after the other: what a first file kills need not collect the others.
        os._exit(any(sys.modules["pytest"].main([*how, test]) for test in tests))
    until = time.monotonic() + limit
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return "survived" if status == 0 else "killed"
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "too slow"


def equivalent():
    """The changes that EQUIVALENT lists, as (path, old line, new line)."""
    if not EQUIVALENT.exists():
        return set()
    rows = EQUIVALENT.read_text(encoding="utf-8").split("\n\n")
    return {tuple(row.splitlines()[-3:]) for row in rows if row.strip()}


def shown(mutant, source):
    """A mutant as (path, old line, new line)."""
    changed = source[: mutant.start] + mutant.new + source[mutant.end :]
    first = source.rfind(b"\n", 0, mutant.start) + 1
    ends = (text.find(b"\n", end) for text, end in
            ((source, mutant.end), (changed, mutant.start + len(mutant.new))))  # fmt: skip
    lines = (text[first:end] for text, end in zip((source, changed), ends, strict=True))
    return mutant.path, *(" ".join(line.decode().split()) for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", default=list(ROOMS), help="files or folders")
    parser.add_argument("--number", type=int, default=40, help="changes to draw; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120, help="seconds for the tests of one")
    parser.add_argument("--targeted", action="store_true", help="only where counts are subtle")
    asked = parser.parse_args()
    paths = sorted({path for name in asked.files for path in ROOT.glob(f"{name}*")})
    paths = [path for each in paths for path in (each.rglob("*.py") if each.is_dir() else [each])]
    sources = {str(path.relative_to(ROOT)): path.read_bytes() for path in sorted(set(paths))}
    found = [mutant for path, source in sources.items() for mutant in mutants(path, source)]
    if asked.targeted:
        found = [m for m in found if "models" in m.path and TARGETED.search(_around(sources, m))]
    known = equivalent()
    found = [mutant for mutant in found if shown(mutant, sources[mutant.path]) not in known]
    random.Random(asked.seed).shuffle(found)
    drawn = found[: asked.number or None]
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            __import__(name)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "build", "*.egg-info"))
        for tests in sorted({tests_of(mutant.path) for mutant in drawn}):
            if outcome(tree, tests, 10 * asked.limit) != "survived":
                sys.exit(f"{' '.join(tests)}: these fail before any change; run them first")
        alive = []
        for number, mutant in enumerate(drawn, 1):
            source = sources[mutant.path]
            target = tree / mutant.path
            target.write_bytes(source[: mutant.start] + mutant.new + source[mutant.end :])
            result = outcome(tree, tests_of(mutant.path), asked.limit)
            target.write_bytes(source)
            if result == "survived":
                alive.append(mutant)
                _, old, new = shown(mutant, source)
                print(f"{mutant.path}:{mutant.line}\n    {old}\n    {new}", flush=True)
            print(f"\r{number} of {len(drawn)}, {len(alive)} alive ", end="", file=sys.stderr)
    killed = len(drawn) - len(alive)
    print(
        f"\n{killed} of {len(drawn)} killed, {killed / max(len(drawn), 1):.1%}; {len(found)} known"
    )


def _around(sources, mutant):
    """The line of a mutant and the name of the function it is in."""
    lines = sources[mutant.path].decode().splitlines()[: mutant.line]
    heads = [line for line in lines if re.match(r"\s*def ", line)]
    return lines[-1] + (heads[-1] if heads else "")


if __name__ == "__main__":
    main()
