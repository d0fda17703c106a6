"""Build the notebooks from their text sources, or check that they are up to date.

    course/text/01-x.md      -> course/en/01-x.ipynb        run, with outputs
    solutions/text/ps1-x.md  -> solutions/en/ps1/ps1.ipynb  nbgrader's source, not run
                             -> exercises/en/ps1/ps1.ipynb  nbgrader's release, for students

    python -m tools.notebooks                         build all
    python -m tools.notebooks course/text/01-x.md     build one
    python -m tools.notebooks --check                 exit 1 if any is out of date

`--check` ignores the bytes of pictures, which differ between platforms, and reuses kept runs.
"""

import argparse
import functools
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from roofcheck.course import Course
from rooflab.explore.pages import WIDGET_VIEW
from tools.notebooks import inline_values as inline
from tools.notebooks.kept_runs import run_notebook, run_once
from tools.notebooks.myst_cells import BuildError, Text, find_call, read_lecture, read_problem_set
from tools.notebooks.own_figures import give_own_figures
from tools.notebooks.problem_sets import fill_in_set, read_sets, write_homework_sentence
from tools.notebooks.sections import link_sections

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("course/en/*.ipynb", "solutions/en/*/*.ipynb", "exercises/en/*/*.ipynb")
CELL_SECONDS = 120
HOMEWORK = "{eval}`homework`"


def main(argv: list[str] | None = None, root: Path = ROOT, points=None) -> int:
    """Build or check the notebooks under `root`, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("texts", nargs="*", type=Path, help="build only these texts")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if stale")
    args = parser.parse_args(argv)
    problems = []
    try:
        texts = find_texts(root, args.texts)
        for text, notebooks in build_texts(root, texts, points or find_question_points, args.check):
            if isinstance(notebooks, BuildError):
                # An error in a problem set also stops every lecture that names its questions.
                problems += {str(notebooks)} - {*problems}
                print(f"{text}: failed", flush=True)
                continue
            for target, content in notebooks.items():
                if args.check:
                    differences = list_differences(root / target, content)
                    problems += [f"{target}: {difference}" for difference in differences]
                    if differences:
                        problems.append(f"  to fix: python -m tools.notebooks {text}")
                    state = "differs" if differences else "up to date"
                else:
                    state = "written" if write_if_changed(root / target, content) else "unchanged"
                print(f"{target}: {state}", flush=True)
        if args.check and not args.texts:
            built = {root / target for text in texts for target in list_built_paths(text)}
            unknown = {path for folder in FOLDERS for path in root.glob(folder)} - built
            problems += [
                f"{path.relative_to(root).as_posix()}: no text builds this notebook; delete it"
                for path in sorted(unknown)
            ]
    except BuildError as error:
        problems.append(str(error))
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return 1 if problems else 0


def find_question_points(name: str) -> float:
    """Return a question's points. Raises ValueError if it would accept a slip as the answer."""
    from roofcheck import find_question

    question = find_question(name)
    if problems := question.problems():
        raise ValueError("; ".join(problems))
    return question.points


def find_texts(root: Path, paths: list[Path]) -> list[str]:
    """Return the texts at `paths`, or all if it is empty, as paths relative to `root`."""
    folders = [root / "course/text", root / "solutions/text"]
    texts = [path.resolve() for path in paths] or sorted(p for f in folders for p in f.glob("*.md"))
    for text in texts:
        if text.parent not in folders or text.suffix != ".md" or not text.is_file():
            raise BuildError(
                f"{text}: not a text; name a .md file in course/text or solutions/text"
            )
    names = [text.relative_to(root).as_posix() for text in texts]
    owners: dict[str, str] = {}
    for name in names:
        for target in list_built_paths(name):
            if owners.setdefault(target, name) != name:
                raise BuildError(
                    f"{name}: builds {target}, but so does {owners[target]}; rename one"
                )
    return names


def list_built_paths(text: str) -> list[str]:
    """Return the paths of the notebooks built from a text, relative to the root."""
    stem = Path(text).stem
    if text.startswith("course/"):
        return [f"course/en/{stem}.ipynb"]
    if not (match := re.match(r"ps\d+(?=-)", stem)):
        raise BuildError(f"{text}: a problem set's text must be named psN-topic.md")
    return [f"{folder}/en/{match[0]}/{match[0]}.ipynb" for folder in ("solutions", "exercises")]


def build_texts(
    root: Path, texts: list[str], points: Callable[[str], float], keep_run: bool = False
) -> Iterator[tuple[str, dict[str, str] | BuildError]]:
    """Yield each text with its notebooks (a dict of contents by path) or with its error.

    With ``keep_run``, a lecture reuses its kept run or keeps a new one, with SVG pictures.
    """
    sets = functools.cache(lambda: read_sets(root))

    def build_text(text: str) -> tuple[str, dict[str, str] | BuildError]:
        try:
            source = (root / text).read_text(encoding="utf-8")
            if text.startswith("course/"):
                if HOMEWORK in source:
                    homework = write_homework_sentence(int(Path(text).name[:2]), sets(), "../..")
                    source = source.replace(HOMEWORK, homework)
                lecture = read_lecture(text, source, points)
                contents = [build_lecture(lecture, root / list_built_paths(text)[0], keep_run)]
            else:
                problems = read_problem_set(text, source, points)
                fill_in_set(problems, root)
                if Path(list_built_paths(text)[0]).stem in Course(root).term.own_figures:
                    print(f"{text}: own figures in {', '.join(give_own_figures(problems))}")
                contents = build_problem_set(problems, root)
            return text, dict(zip(list_built_paths(text), contents, strict=True))
        except BuildError as error:
            return text, error

    lectures = [text for text in texts if text.startswith("course/")]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(build_text, lectures)
    # nbgrader changes the process's working directory, so build the sets one at a time.
    yield from map(build_text, [text for text in texts if text not in lectures])


def build_lecture(text: Text, path: Path, keep_run: bool = False) -> str:
    """Run a lecture in the folder of `path` and return the text of its notebook.

    Expressions in the prose run after the cells. Raises BuildError if a cell fails or writes to
    stderr.
    """
    notebook = text.notebook
    metadata = notebook.metadata.copy()
    cells, probes = notebook.cells, inline.make_probe_cells(text)
    notebook.cells = cells + probes
    if keep_run:
        run_once(notebook, path, lambda: run_lecture(text, path.parent, for_web=True))
    else:
        run_lecture(text, path.parent)
    notebook.cells, notebook.metadata = cells, metadata
    for cell in cells + probes:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                raise text.error(cell, f"{output.ename}: {output.evalue}")
            if output.get("name") == "stderr":
                raise text.error(cell, f"writes to stderr: {output.text.strip()}")
            if set(output.get("data", {})) == {WIDGET_VIEW, "text/plain"}:
                # The saved notebook has no output for this widget, so nbval can't compare it.
                cell.metadata.tags = sorted({*cell.metadata.get("tags", []), "nbval-ignore-output"})
        if cell.cell_type == "code":
            cell.outputs = tidy_outputs(cell.outputs)
            clear_reader_traces(cell)
    inline.fill_in_values(text, probes)
    link_sections(text)
    return format_notebook(text)


def run_lecture(text: Text, folder: Path, for_web: bool = False) -> None:
    """Run a lecture's notebook in place. Raises BuildError, naming the line, if a cell fails."""
    running: list[NotebookNode] = []
    folder.mkdir(parents=True, exist_ok=True)
    try:
        run_notebook(
            text.notebook, folder, for_web, timeout=CELL_SECONDS, iopub_timeout=CELL_SECONDS,
            raise_on_iopub_timeout=True, record_timing=False,
            on_cell_execute=lambda cell, cell_index: running.append(cell),
        )  # fmt: skip
    except CellExecutionError as error:
        cell = running[-1]
        traceback = re.sub(r"\x1b\[[\d;]*m", "", error.traceback)
        lines = re.findall(rf"Cell In\[{cell.execution_count}\], line (\d+)", traceback)
        reason = re.sub(r" \(\d+\.py, line \d+\)$", "", error.evalue)
        line = int(lines[-1]) if lines else 1
        raise text.error(cell, f"{error.ename}: {reason}", line) from None
    except CellTimeoutError:
        raise text.error(running[-1], f"still running after {CELL_SECONDS} s") from None
    except DeadKernelError:
        raise text.error(running[-1], "the kernel died while running it") from None
    except RuntimeError as error:
        raise BuildError(f"{text.name}: the kernel did not start: {error}") from None


def tidy_outputs(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Remove widget models and metadata, which differ between runs, and join split streams."""
    tidy: list[NotebookNode] = []
    for output in outputs:
        if "data" in output:
            output.metadata = {}
            if output.data.pop(WIDGET_VIEW, None) and set(output.data) <= {"text/plain"}:
                continue
        if output.output_type == "stream" and tidy and tidy[-1].output_type == "stream":
            tidy[-1].text += output.text
        else:
            tidy.append(output)
    return tidy


def clear_reader_traces(cell: NotebookNode) -> None:
    """Remove execution counts and the outputs of checks, as if no reader had run the cell."""
    cell.execution_count = None
    for output in cell.outputs:
        if output.output_type == "execute_result":
            output.execution_count = None
    call = find_call(cell)
    if call and call.is_whole_cell and call.call != "reveal":
        cell.outputs = []
        # When nbval runs the cell, it does have an output.
        cell.metadata.tags = sorted({*cell.metadata.get("tags", []), "nbval-ignore-output"})


def build_problem_set(text: Text, root: Path) -> tuple[str, str]:
    """Return nbgrader's source version of a set, and the release version made from it."""
    # These are slow to import, and lectures do not need them.
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.utils import capture_log
    from traitlets.config import PyFileConfigLoader

    source = format_notebook(text)
    source_path, release_path = list_built_paths(text.name)
    with tempfile.TemporaryDirectory() as course:
        write_if_changed(Path(course, source_path), source)
        config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
        config.CourseDirectory.root = course
        config.CourseDirectory.assignment_id = Path(source_path).stem
        # A build must not touch the instructor's gradebook.
        config.GenerateAssignment.no_database = True
        config.SaveCells.enabled = False
        result = capture_log(
            GenerateAssignment(coursedir=CourseDirectory(config=config), config=config)
        )
        release = Path(course, release_path)
        if not (result["success"] and release.is_file()):
            log = result.get("log", "") + result.get("error", "")
            reason = log.partition("[ERROR] There was an error processing")[0] or log
            raise BuildError(f"{text.name}: nbgrader refuses it:\n{reason.rstrip()}")
        return source, release.read_text(encoding="utf-8")


def format_notebook(text: Text) -> str:
    try:
        nbformat.validate(text.notebook)
    except nbformat.ValidationError as error:
        raise BuildError(f"{text.name}: {error}") from None
    return nbformat.writes(text.notebook) + "\n"


def write_if_changed(path: Path, content: str) -> bool:
    """Replace a file atomically if its content changes, and return whether it did."""
    if path.is_file() and path.read_bytes() == content.encode():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.tmp")
    draft.write_bytes(content.encode())
    draft.replace(path)
    return True


def list_differences(path: Path, content: str) -> list[str]:
    """List the cells of a committed notebook that differ from the built one."""
    if not path.is_file():
        return ["missing file"]
    committed, built = map(drop_picture_bytes, (path.read_text(encoding="utf-8"), content))
    try:
        old, new = (
            {cell["id"]: cell for cell in json.loads(text)["cells"]} for text in (committed, built)
        )
    except (ValueError, LookupError, TypeError):
        return ["not a notebook with cell ids"]
    differences = [f"cell {name} differs" for name in new | old if old.get(name) != new.get(name)]
    if not differences and committed != built:
        return ["the order of cells, the notebook's metadata or the layout of the file differs"]
    return differences


def drop_picture_bytes(content: str) -> str:
    """Remove the bytes of pictures from a notebook's text, and label all pictures as PNGs."""
    content = re.sub("<picture><source[^>]+>|</picture>", "", content)
    content = re.sub(r"data:image/svg\+xml,[^\\]+", "data:image/png;base64,", content)
    return re.sub(r'(data:image/png;base64,|"image/png": ")(?:[\w+/=]|\\n)+', r"\1", content)
