"""Compare the speed of grading with that of stock nbgrader, including for large classes.

Run ``python -m benchmarks.grading`` or ``make bench`` with nothing else running on the machine. It
takes about 15 minutes. The benchmark only reports and never fails, because other load can halve any
speed. ``--quick`` tries everything with few submissions. ``--unsandboxed`` is for hosts where the
sandbox cannot start.

Unless stated otherwise, times are per additional submission and exclude start-up. For stock
nbgrader, they are the difference of two runs; for ours, the first tenth of the results is skipped.
For a class of a hundred, the whole command is timed; the time of stock nbgrader is extrapolated
from two shorter runs. All runs write a real gradebook.
"""

import argparse
import contextlib
import copy
import json
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import nbformat

from roofgrade.common.results import GRADED, REFUSED, WAITING, Result
from roofgrade.course import Course
from roofgrade.gradebook.result_files import RESULTS_FOLDER
from roofgrade.judge.marking import mark_submission
from roofgrade.pages.summary import UNGRADED
from roofgrade.run.grading_run import grade_assignment
from roofgrade.sandbox import Box

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests/roofgrade"))
from marks import NoBox  # noqa: E402

SET = "ps1"
WORKERS = 2
FIGURE = "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2, 3], [2, 4, 6])\nplt.show()"


@dataclass(frozen=True)
class Sizes:
    """Number of submissions in each part of the benchmark."""

    stock: int = 12
    ours: int = 120
    whole: int = 100
    long: int = 1_000
    many: int = 10_000


QUICK = Sizes(stock=2, ours=20, whole=10, long=40, many=200)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--unsandboxed", action="store_true")
    options = parser.parse_args()
    sizes = QUICK if options.quick else Sizes()
    real = {"bench": (mark_submission, Box), "unsandboxed": options.unsandboxed}
    for kind, notebook, at_least in (("light", light(), 20), ("typical", typical(), 10)):
        alone, each = stock_seconds(notebook, sizes.stock)
        beside_stock(kind, notebook, sizes, real, each, at_least=at_least)
        whole_class(kind, notebook, sizes.whole, alone, each, options.unsandboxed)
    long_run(sizes.long, real)
    many(sizes.many, sizes.long)


def report(what, value, unit, *, at_most=None, at_least=None):
    met = value <= at_most if at_least is None else value >= at_least
    bound = f"at most {at_most}" if at_least is None else f"at least {at_least}"
    print(f"{what:52} {value:8.2f}{unit:3}  bound: {bound}{unit}, {'met' if met else 'missed'}")


def beside_stock(kind, notebook, sizes, real, stock, at_least):
    """Report our submissions per second relative to `nbgrader autograde`."""
    ours = seconds_each(graded_class(notebook, sizes.ours, **real))
    print(f"{'':52} stock {stock:.3f} s, {WORKERS} workers {ours:.3f} s a submission")
    report(f"{kind} work, submissions/s / stock's", stock / ours, "x", at_least=at_least)


def whole_class(kind, notebook, count, alone, each, unsandboxed):
    """Report the total times of both commands for a new class."""
    with new_course() as course:
        hand_in(course, notebook, count)
        start = perf_counter()
        command(course, "roofgrade", SET, *(["--unsandboxed"] if unsandboxed else []))
        ours = perf_counter() - start
    stock = alone + (count - 1) * each
    print(f"{'':52} stock {stock:.1f} s, ours {ours:.1f} s for {count}")
    report(f"{kind} class of {count} with set-up, stock's time / ours", stock / ours, "x",
           at_least=10)  # fmt: skip


def long_run(count, real):
    """Report whether the last submissions of a long run take as long as the first."""
    times = graded_class(light(), count, **real)
    part = count // 10
    first, last = times[part : 2 * part + 1], times[-part - 1 :]
    ratio = (last[-1] - last[0]) / (first[-1] - first[0])
    report(f"{count} submissions, last tenth / second tenth", ratio, "x", at_most=1.2)


def many(count, fewer):
    """Report whether a large class is graded completely without using more memory."""
    small, (counts, large) = in_a_process(fewer)[1], in_a_process(count)
    states = ", ".join(f"{number} {state}" for state, number in counts.items())
    print(f"{'':52} {states}")
    report(f"{count} folders, results / folders", sum(counts.values()) / count, "x", at_least=1)
    report(f"coordinator's memory at {count} - at {fewer}", large - small, " MB", at_most=200)


def in_a_process(count):
    """Return counts by state and peak memory in MB, measured in a new process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(all_sorts, count).result()


def all_sorts(count):
    """Grade a class with normal, unreadable and crashing submissions."""
    with new_course() as course:
        plain = nbformat.writes(light())
        for number in range(count):
            folder = course.submitted / f"s{number:05}" / SET
            folder.mkdir(parents=True)
            text = "not JSON" if number % 10 == 1 else plain
            (folder / f"{SET}.ipynb").write_text(text, encoding="utf-8")
        summary = grade_assignment(
            course, SET, workers=WORKERS, progress=False, bench=(sorted_by_name, NoBox)
        )
    counts = {state: n for state, n in summary.counts.items() if state != UNGRADED}
    return counts, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def stock_seconds(notebook, count):
    """Return the seconds of `nbgrader autograde` for one submission, and per additional one."""
    seconds = []
    for students in (1, 1 + count):
        with new_course() as course:
            hand_in(course, notebook, students)
            command(course, "nbgrader", "generate_assignment", SET, "--create", "--force")
            start = perf_counter()
            command(course, "nbgrader", "autograde", SET, "--create")
            seconds.append(perf_counter() - start)
    return seconds[0], (seconds[1] - seconds[0]) / count


def graded_class(notebook, count, **options):
    """Grade a class and return the completion times of its submissions, in order."""
    with new_course() as course:
        hand_in(course, notebook, count)
        summary = grade_assignment(course, SET, workers=WORKERS, progress=False, **options)
        assert summary.counts[GRADED] == count, summary.text()
        results = (course.grading / SET / RESULTS_FOLDER).iterdir()
        return sorted(path.stat().st_mtime for path in results)


def seconds_each(times):
    """Return the seconds per submission, skipping the first tenth of a run."""
    begin = len(times) // 10
    return (times[-1] - times[begin]) / (len(times) - 1 - begin)


@contextlib.contextmanager
def new_course():
    """Yield a course in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="grading-") as folder:
        shutil.copy(ROOT / "nbgrader_config.py", folder)
        for name in ("solutions", "exercises"):
            shutil.copytree(ROOT / name, Path(folder) / name)
        yield Course(Path(folder))


def command(course, *arguments):
    # nbgrader looks up alembic in PATH, so set it as an activated environment does.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=course.root, env=os.environ | {"PATH": path}, check=True, capture_output=True,
    )  # fmt: skip


def light():
    """Return the release with the solutions filled in; they import nothing heavier than NumPy."""
    path = ROOT / f"solutions/en/{SET}/{SET}.ipynb"
    solved = {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}
    release = nbformat.read(ROOT / f"exercises/en/{SET}/{SET}.ipynb", as_version=4)
    for cell in release.cells:
        if cell.metadata.nbgrader.get("solution"):
            cell.source = solved[cell.id].source
    return release


def typical():
    """Return the `light` notebook with an additional plot."""
    notebook = light()
    last_code = max(i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code")
    figure = nbformat.v4.new_code_cell(FIGURE, id="own-figure")
    notebook.cells.insert(last_code, figure)
    return notebook


def hand_in(course, notebook, count):
    for number in range(count):
        own = copy.deepcopy(notebook)
        signed = next(cell for cell in own.cells if cell.id == f"{SET}-me")
        signed.source = f'me = "s{number:05}"'
        folder = course.submitted / f"s{number:05}" / SET
        folder.mkdir(parents=True)
        nbformat.write(own, folder / f"{SET}.ipynb")


def no_marking(task, box):
    """Return the unmarked release as a result, with half the points for each check."""
    notebook = json.loads(task.release_json)
    for cell in notebook["cells"]:
        about = cell["metadata"].get("nbgrader", {})
        if about.get("grade") and not about["solution"]:
            data = {"text/plain": repr(about["points"] / 2)}
            cell["outputs"] = [{"output_type": "execute_result", "data": data, "metadata": {},
                                "execution_count": 1}]  # fmt: skip
    return Result(
        student=task.student, assignment=task.assignment, folder=task.folder, state=GRADED,
        notebook=json.dumps(notebook), key=task.key,
    )  # fmt: skip


def sorted_by_name(task, box):
    """Return a result that depends only on the submission's name and text."""
    named = {"student": task.student, "assignment": SET, "folder": task.folder, "key": task.key}
    if task.notebook == b"not JSON":
        return Result(**named, state=REFUSED, reason="no JSON")
    if task.student.endswith("2"):
        return Result(**named, state=WAITING, reason="it crashed")
    return no_marking(task, box)


if __name__ == "__main__":
    main()
