"""What a student's cells put out: well formed, bounded, and of kinds that run nowhere."""

import json
import re

from nbformat import NotebookNode, from_dict

from roofgrade.common.sentences import replace_surrogates, sentence

# The most characters of one piece of data, and of a notebook with all of them.
LONGEST = 2 << 20
LONGEST_NOTEBOOK = 10 << 20
# The most outputs of one cell, and of a notebook.
MOST_OUTPUTS, MOST_IN_ALL = 1_000, 20_000
# The most lines of what a cell prints, and of a traceback: nbgrader's own.
MOST_LINES, MOST_OF_TRACEBACK = 1_000, 100
LONGEST_ID = 200
# Scripts and the views of widgets are not among these: neither could be shown safely, or at all.
SAFE_KINDS = re.compile(r"text/(plain|html|markdown|latex)|image/(png|jpeg|gif|svg\+xml)")


class OutputCleaner:
    """Turns the outputs that a student's process replied into a notebook's; keeps display ids."""

    def __init__(self):
        self._displayed, self._room = {}, MOST_IN_ALL

    def clean(self, reply: dict) -> list:
        """nbformat outputs of one cell's reply; what is no output is left out."""
        found = []
        outputs = reply.get("outputs")
        for output in outputs[:MOST_OUTPUTS] if isinstance(outputs, list) else ():
            if isinstance(output, dict) and self._room > 0:
                made = self._clean_output(output, reply.get("count"))
                found += [made] if made else []
                self._room -= bool(made)
        return _shorten_streams(found)

    def _clean_output(self, output, count):
        match output.get("output_type"):
            case "stream":
                name = "stderr" if output.get("name") == "stderr" else "stdout"
                return make_stream(bound_text(output.get("text")), name)
            case "error":
                lines = output.get("traceback")
                return make_error(
                    bound_text(output.get("ename"), 200),
                    bound_text(output.get("evalue"), 10_000),
                    [bound_text(line, 100_000) for line in _shorten_traceback(lines)],
                )
            case "execute_result":
                return make_result(
                    _clean_data(output.get("data")), count, _clean_metadata(output.get("metadata"))
                )
            case "display_data":
                made = from_dict(
                    {
                        "output_type": "display_data",
                        "data": _clean_data(output.get("data")),
                        "metadata": _clean_metadata(output.get("metadata")),
                    }
                )
                if isinstance(display := output.get("display_id"), str):
                    made.data = self._share_display(display, made.data)
                return made
            case "update":
                display = str(output.get("display_id"))
                if display[:LONGEST_ID] in self._displayed:
                    self._share_display(display, _clean_data(output.get("data")))
        return None

    def _share_display(self, display, data):
        """The data of all displays of this id, from now on ``data``.

        They are one object: thousands of displays, updated thousands of times, cost no more.
        """
        shared = self._displayed.setdefault(display[:LONGEST_ID], NotebookNode())
        shared.clear()
        shared.update(data)
        return shared


# nbformat's own functions check each output by its schema, which takes as long as all else.


def make_stream(text, name="stdout"):
    """What a cell printed."""
    return from_dict({"output_type": "stream", "name": name, "text": text})


def make_error(name, value, lines):
    """An error, with the lines of its traceback."""
    return from_dict({"output_type": "error", "ename": name, "evalue": value, "traceback": lines})


def make_result(data, count, metadata=None):
    """The value of a cell's last line."""
    found = {"output_type": "execute_result", "data": data, "metadata": metadata or {}}
    return from_dict(found | {"execution_count": count})


def bound_text(text, most=LONGEST):
    """A text that can be written as UTF-8, of bounded length."""
    return replace_surrogates(text if isinstance(text, str) else "")[:most]


def format_notebook(notebook) -> str:
    """The notebook as text; if that is too long, without the outputs of what counts no points."""
    # The size is found before writing, as one large text may be shown in thousands of places.
    if sum(
        _count_characters(output) for cell in notebook.cells for output in cell.get("outputs", ())
    ) > (LONGEST_NOTEBOOK):
        _drop_outputs(notebook)
    text = json.dumps(notebook, ensure_ascii=False)
    if len(text) > LONGEST_NOTEBOOK:
        _drop_outputs(notebook)
        text = json.dumps(notebook, ensure_ascii=False)
    return text


def _shorten_streams(found):
    """The outputs of a cell, with so many lines of what it printed in all."""
    left, kept = MOST_LINES, []
    for output in found:
        if output.output_type == "stream":
            if not left:
                continue
            lines = output.text.split("\n")
            if len(lines) > left:
                lines = [*lines[: left - 1], sentence("judge.truncated")]
            left -= len(lines)
            output.text = "\n".join(lines)
        kept.append(output)
    return kept


def _shorten_traceback(lines):
    """A traceback's first and last lines, where it has too many."""
    if not isinstance(lines, list) or len(lines) <= MOST_OF_TRACEBACK:
        return lines if isinstance(lines, list) else []
    half = MOST_OF_TRACEBACK // 2
    return [*lines[:half], sentence("judge.truncated_traceback"), *lines[1 - half :]]


def _drop_outputs(notebook):
    for cell in notebook.cells:
        graded = cell.metadata.get("nbgrader", {}).get("grade")
        if cell.cell_type == "code" and cell.outputs and not graded:
            cell.outputs = [make_stream(f"{sentence('judge.dropped')}\n")]


def _count_characters(output):
    """Characters of an output."""
    texts = [output.get("text", ""), *output.get("traceback", ()), *output.get("data", {}).values()]
    return sum(map(len, texts))


def _clean_data(data):
    known = data.items() if isinstance(data, dict) else ()
    return {
        kind: bound_text(value)
        for kind, value in known
        if isinstance(kind, str) and isinstance(value, str) and SAFE_KINDS.fullmatch(kind)
    }


def _clean_metadata(metadata):
    """The sizes of pictures: a page shows nothing else of an output's metadata."""
    found = {}
    for kind, settings in metadata.items() if isinstance(metadata, dict) else ():
        if isinstance(settings, dict) and isinstance(kind, str) and SAFE_KINDS.fullmatch(kind):
            sizes = {name: settings.get(name) for name in ("width", "height")}
            found[kind] = {name: size for name, size in sizes.items() if type(size) is int}
    return found
