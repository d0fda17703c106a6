"""Change the files that hold numbers in one place at a time, and name the changes no test notices.

    python tools/mutants.py                       40 changes drawn from all of them
    python tools/mutants.py --targeted --number 0 every one where counts are subtle
    python tools/mutants.py --seed 2 --number 100 roofkit/network

A mutant is killed where a test of its room fails or lasts too long. Those that nothing can notice
are passed over if a file tools/equivalent.txt lists them: a reason, the path, the line before and
the line after, then an empty line. Needs a system that can fork.
"""

import argparse
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

from mutations import mutants

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
TESTS, LAB = "tests/roofkit/", "tests/rooflab/"
ORACLES = f"{TESTS}oracles/test_"
# Each folder or file of numbers and the tests of it, those that fail soonest first.
ROOMS = {
    **dict.fromkeys(
        ("roofkit/models/llm/configs.py", "roofkit/models/llm/families.py",
         "roofkit/models/llm/fields.py", "roofkit/models/llm/quantization.py"),
        (f"{TESTS}models/test_families.py", f"{ORACLES}transformers.py", f"{TESTS}test_llm.py"),
    ),
    "roofkit/models/llm/llm_viewer.py": [f"{TESTS}test_llm.py", f"{TESTS}test_docs.py"],
    "roofkit/models/cnn": [f"{ORACLES}cnn_counting.py", f"{TESTS}test_cnn.py"],
    "roofkit/models": [
        f"{ORACLES}counting.py", f"{TESTS}models", f"{TESTS}test_llm.py",
        f"{ORACLES}cnn_counting.py", f"{ORACLES}transformers.py",
    ],
    "roofkit/network": [f"{ORACLES}wiring.py", f"{TESTS}network"],
    "roofkit/hardware": [f"{TESTS}test_hardware.py", f"{TESTS}network/test_groups.py"],
    "roofkit/roofline.py": [f"{TESTS}test_roofline.py", f"{TESTS}test_kernels.py"],
    "roofkit/kernels.py": [f"{TESTS}test_kernels.py"],
    "rooflab/machine/calibration.py": [f"{LAB}test_machine.py"],
    "rooflab/machine/predictions.py": [f"{LAB}test_predictions.py", f"{LAB}test_gpu_fit.py"],
    "rooflab/machine/gpu": [f"{LAB}test_predictions.py", f"{LAB}test_gpu_fit.py"],
}  # fmt: skip
# Lines and functions of the models where a wrong count is easily made and hardly noticed.
TARGETED = re.compile(
    r"act(ivation)?_|expert|touched|missed|arrived|router|routed|shared|summed|qk_norm|positions|"
    r"placed|kv_heads|kv_dim|split|memory|held|widest|stored|parameters",
    re.IGNORECASE,
)
NO_TESTS = 5  # pytest's exit code for a room without a doctest
# Modules that tests import; the parent process loads them once.
HEAVY = (
    "numpy", "pytest", "hypothesis", "sympy", "scipy.optimize", "torch.utils.flop_counter",
    "transformers.modeling_utils",
)  # fmt: skip


def drawn(asked):
    """The mutants that are asked for, drawn at random if there are more."""
    listed = EQUIVALENT.read_text(encoding="utf-8") if EQUIVALENT.exists() else ""
    known = {tuple(row.splitlines()[-3:]) for row in listed.split("\n\n") if row.strip()}
    found = []
    for path in sorted(ROOT.glob("roof[kl]*/**/*.py")):
        name = str(path.relative_to(ROOT))
        if name.startswith(tuple(asked.files)):
            found += mutants(name, path.read_bytes())
    found = [each for each in found if (each.path, each.old, each.new) not in known]
    if asked.targeted:
        found = [
            each for each in found
            if "models" in each.path and TARGETED.search(f"{each.function} {each.old}")
        ]  # fmt: skip
    random.Random(asked.seed).shuffle(found)
    return found[: asked.number or None]


def tests_of(path):
    room = next(room for room in ROOMS if path.startswith(room))
    return *ROOMS[room], room if (ROOT / room).exists() else path


def survives(tree, tests, limit):
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
        # Files run one after the other: if the first fails, the others need not be collected.
        run, failed = sys.modules["pytest"].main, True
        try:
            failed = any(run([*how, test]) not in (0, NO_TESTS) for test in tests)
        finally:  # whatever is raised, the tree is the parent's to remove
            os._exit(failed)
    until = time.monotonic() + limit
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", default=list(ROOMS), help="how their paths begin")
    parser.add_argument("--number", type=int, default=40, help="changes to draw; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120, help="seconds for the tests of one")
    parser.add_argument("--targeted", action="store_true", help="only where counts are subtle")
    asked = parser.parse_args()
    tried, alive = drawn(asked), 0
    # Python knows bytecode by the second and length of its file, and would take an old mutant's.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            __import__(name)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        left = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__")
        shutil.copytree(ROOT, tree, ignore=left)
        for tests in sorted({tests_of(mutant.path) for mutant in tried}):
            if not survives(tree, tests, 10 * asked.limit):
                sys.exit(f"these fail before any change; run them first: {' '.join(tests)}")
        for number, mutant in enumerate(tried, 1):
            file = tree / mutant.path
            before = file.read_bytes()
            file.write_bytes(mutant.source)
            if survives(tree, tests_of(mutant.path), asked.limit):
                alive += 1
                print(
                    f"{mutant.path}:{mutant.line}\n    {mutant.old}\n    {mutant.new}", flush=True
                )
            file.write_bytes(before)
            print(f"\r{number} of {len(tried)}, {alive} alive ", end="", file=sys.stderr)
    killed = len(tried) - alive
    print(f"\n{killed} of {len(tried)} killed: {killed / max(len(tried), 1):.1%}")


if __name__ == "__main__":
    main()
