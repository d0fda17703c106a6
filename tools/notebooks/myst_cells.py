"""Read a text (MyST Markdown) as a notebook that has not run.

CONTRIBUTING.md explains how to write a lecture and a problem set, and how slide types and grading
follow from the cells. Every cell has an id, unique in its text. The notebook keeps the options
`tags`, `jupyter` and `lectures`, and `title` and `minutes` from the optional YAML header.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import nbformat
import yaml
from jupytext.myst import MystMetadataParsingError, myst_to_notebook
from nbformat import NotebookNode

from roofcheck.cells import QuestionCall, question_call, question_calls
from tools.sentences import sentence

SLIDE_TYPES = ("slide", "subslide", "fragment", "skip", "notes", "-")
KEPT_OPTIONS = {"tags", "jupyter", "lectures"}
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
BEGIN_SOLUTION, END_SOLUTION = "### BEGIN SOLUTION", "### END SOLUTION"


class BuildError(Exception):
    """A text cannot be built; the message says where the error is and what to do."""


@dataclass(frozen=True)
class Text:
    """A text read as a notebook; `lines` maps a cell's id to the line where its body starts."""

    name: str
    notebook: NotebookNode
    lines: dict[str, int]

    def error(self, cell: NotebookNode, message: str, line: int = 1) -> BuildError:
        """Return an error about a line of a cell, counted from 1, that gives the text's line."""
        line += self.lines[cell.id] - 1
        return BuildError(f"{self.name}:{line}: cell {cell.id}: {message}")

    def cells(self, *options: str) -> Iterator[tuple[NotebookNode, dict]]:
        """Yield each cell with these options, removed from its metadata. Others are an error."""
        for cell in self.notebook.cells:
            if unknown := set(cell.metadata) - KEPT_OPTIONS - set(options):
                known = ", ".join(sorted({"id", *KEPT_OPTIONS, *options}))
                raise self.error(cell, f"unknown option {min(unknown)!r}; the options are {known}")
            yield cell, {key: cell.metadata.pop(key) for key in options if key in cell.metadata}


def read_lecture(name: str, source: str, points: Callable[[str], float]) -> Text:
    """Read a lecture's text as a notebook with slide types, not yet run.

    `points` returns the points of a question by its id, or raises if it cannot be asked.
    """
    text = _parse_text(name, source)
    for cell, options in text.cells("slide"):
        for call in question_calls(cell.source) if cell.cell_type == "code" else ():
            if call.question:
                _find_points(text, cell, call.question, points)
        slide_type = options.get("slide", _choose_slide_type(cell))
        if slide_type not in SLIDE_TYPES:
            known = ", ".join(SLIDE_TYPES)
            raise text.error(cell, f"slide is {slide_type!r}; it must be one of {known}")
        if slide_type != "-":
            cell.metadata.slideshow = {"slide_type": slide_type}
        if "reveal" in cell.metadata.get("tags", []):
            cell.metadata.jupyter = {"source_hidden": True, "outputs_hidden": True}
            # JupyterLab shows the first line of hidden code.
            cell.source = f"# {sentence('reveal.first_line')}\n{cell.source}"
            text.lines[cell.id] -= 1
    return text


def read_problem_set(name: str, source: str, points: Callable[[str], float]) -> Text:
    """Read a problem set's text as nbgrader's source notebook; `points` as in `read_lecture`."""
    text = _parse_text(name, source)
    model_answer = ""
    for cell, options in text.cells("points", "rubric"):
        solution = BEGIN_SOLUTION in cell.source
        if options.pop("rubric", False):
            cell.source = _mark_rubric(text, cell, model_answer)
        answered = cell.source.partition(BEGIN_SOLUTION)[2].partition(END_SOLUTION)[0]
        model_answer = answered.strip() if "points" in options else ""
        match find_whole_cell_call(cell):
            case QuestionCall("check", ""):
                raise text.error(cell, 'write check("question-id", ...) with the id as a string')
            case QuestionCall("check", question):
                kind = {"grade": True, "locked": True, "solution": False}
                kind["points"] = _find_points(text, cell, question, points)
            case None if cell.cell_type == "markdown" and (options or solution):
                if not (solution and isinstance(options.get("points"), int | float)):
                    raise text.error(
                        cell,
                        "an answer graded by hand needs both the option points (a number) and a "
                        "### BEGIN SOLUTION region with its model answer",
                    )
                kind = {"grade": True, "locked": False, "solution": True, **options}
            case _:
                kind = {"grade": False, "locked": not solution, "solution": solution}
        if cell.cell_type == "code" and options:
            raise text.error(
                cell, "a code cell takes no points; a check has the points of its question"
            )
        cell.metadata.nbgrader = {"schema_version": 3, "grade_id": cell.id, "task": False, **kind}
    return text


def _mark_rubric(text: Text, cell: NotebookNode, model_answer: str) -> str:
    """Mark all but a rubric's first paragraph, so nbgrader removes it from what students get."""
    public, _, scheme = cell.source.partition("\n\n")
    if not (scheme and model_answer) or cell.cell_type == "code":
        raise text.error(
            cell,
            "a rubric comes right after an answer graded by hand; students see its first "
            "paragraph, and only markers see the rest",
        )
    hidden = f"{scheme}\n\n**A model answer:**\n\n{model_answer}"
    return f"{public}\n\n### BEGIN MARK SCHEME\n\n{hidden}\n\n### END MARK SCHEME"


def _parse_text(name: str, source: str) -> Text:
    try:
        notebook = myst_to_notebook(source, add_source_map=True)
    except (MystMetadataParsingError, yaml.YAMLError, nbformat.ValidationError) as error:
        raise BuildError(f"{name}: {error}") from None
    lines = source.splitlines()
    first_lines: dict[str, int] = {}
    for cell, start in zip(notebook.cells, notebook.metadata.source_map, strict=True):
        # The map points to options or blank lines. IPython counts from the first line after them.
        top = cell.source.strip().split("\n", 1)[0].strip()
        line = 1 + next((i for i in range(start, len(lines)) if lines[i].strip() == top), start)
        cell_id = cell.metadata.pop("id", None)
        if cell_id is None:
            how = ":id: my-id" if cell.cell_type == "code" else '+++ {"id": "my-id"}'
            raise BuildError(f"{name}:{line}: a {cell.cell_type} cell has no id; give it {how}")
        if not (isinstance(cell_id, str) and re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", cell_id)):
            raise BuildError(
                f"{name}:{line}: cell id {cell_id!r} must be 1 to 64 letters, digits, - or _"
            )
        if cell_id in first_lines:
            earlier = first_lines[cell_id]
            raise BuildError(f"{name}:{line}: line {earlier} already has the cell id {cell_id!r}")
        first_lines[cell_id] = line
        cell.id = cell_id
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": KERNEL,
            # Python's version is left out, so that builds don't depend on it.
            "language_info": {"name": "python"},
        }
        | {key: notebook.metadata[key] for key in ("title", "minutes") if key in notebook.metadata}
    )
    return Text(name, notebook, first_lines)


def _choose_slide_type(cell: NotebookNode) -> str:
    if cell.cell_type == "code":
        call = find_whole_cell_call(cell)
        if call and call.call in ("check", "predict"):
            return "skip"
        tags = cell.metadata.get("tags", [])
        return "skip" if "setup" in tags else "fragment" if "reveal" in tags else "-"
    if re.match(r"##? ", cell.source):
        return "slide"
    if re.match(r"####? ", cell.source):
        return "subslide"
    return "-" if re.match(r"> ?|\||\$\$|- |\d+\. ", cell.source) else "notes"


def find_call(cell: NotebookNode) -> QuestionCall | None:
    """Return the call that asks a question at the start of a code cell, or None."""
    return question_call(cell.source) if cell.cell_type == "code" else None


def find_whole_cell_call(cell: NotebookNode) -> QuestionCall | None:
    """Return the call that asks a question if the cell contains nothing else, or None."""
    call = find_call(cell)
    return call if call and call.is_whole_cell else None


def _find_points(
    text: Text, cell: NotebookNode, question: str, points: Callable[[str], float]
) -> float:
    try:
        return points(question)
    except (LookupError, ValueError) as error:
        raise text.error(cell, f"question {question!r} cannot be asked: {error}") from None
