"""What a student's cells put out: well formed, bounded, and of kinds that run nowhere."""

import json
import re

from nbformat import NotebookNode, from_dict

from roofgrade.common.sentences import printable, words

# The most characters of one piece of data, and of a notebook with all of them.
LONGEST = 2 << 20
LONGEST_NOTEBOOK = 10 << 20
# The most outputs of one cell, and of a notebook.
MOST_OUTPUTS, MOST_IN_ALL = 1_000, 20_000
# The most lines of what a cell prints, and of a traceback: nbgrader's own.
MOST_LINES, MOST_OF_TRACEBACK = 1_000, 100
LONGEST_ID = 200
# Scripts and the views of widgets are not among these: neither could be shown safely, or at all.
KINDS = re.compile(r"text/(plain|html|markdown|latex)|image/(png|jpeg|gif|svg\+xml)")


class Cleaner:
    """Turns the outputs that a student's process replied into a notebook's; keeps display ids."""

    def __init__(self):
        self._displayed, self._room = {}, MOST_IN_ALL

    def clean(self, reply: dict) -> list:
        """nbformat outputs of one cell's reply; what is no output is left out."""
        found = []
        outputs = reply.get("outputs")
        for output in outputs[:MOST_OUTPUTS] if isinstance(outputs, list) else ():
            if isinstance(output, dict) and self._room > 0:
                made = self._made(output, reply.get("count"))
                found += [made] if made else []
                self._room -= bool(made)
        return _shortened(found)

    def _made(self, output, count):
        match output.get("output_type"):
            case "stream":
                name = "stderr" if output.get("name") == "stderr" else "stdout"
                return stream(text_of(output.get("text")), name)
            case "error":
                lines = output.get("traceback")
                return failure(
                    text_of(output.get("ename"), 200),
                    text_of(output.get("evalue"), 10_000),
                    [text_of(line, 100_000) for line in _ends(lines)],
                )
            case "execute_result":
                return result(_data(output.get("data")), count, _metadata(output.get("metadata")))
            case "display_data":
                made = from_dict(
                    {
                        "output_type": "display_data",
                        "data": _data(output.get("data")),
                        "metadata": _metadata(output.get("metadata")),
                    }
                )
                if isinstance(display := output.get("display_id"), str):
                    made.data = self._shared(display, made.data)
                return made
            case "update":
                display = str(output.get("display_id"))
                if display[:LONGEST_ID] in self._displayed:
                    self._shared(display, _data(output.get("data")))
        return None

    def _shared(self, display, data):
        """The data of all displays of this id, from now on ``data``.

        They are one object: thousands of displays, updated thousands of times, cost no more.
        """
        shared = self._displayed.setdefault(display[:LONGEST_ID], NotebookNode())
        shared.clear()
        shared.update(data)
        return shared


# nbformat's own functions check each output by its schema, which takes as long as all else.


def stream(text, name="stdout"):
    """What a cell printed."""
    return from_dict({"output_type": "stream", "name": name, "text": text})


def failure(name, value, lines):
    """An error, with the lines of its traceback."""
    return from_dict({"output_type": "error", "ename": name, "evalue": value, "traceback": lines})


def result(data, count, metadata=None):
    """The value of a cell's last line."""
    found = {"output_type": "execute_result", "data": data, "metadata": metadata or {}}
    return from_dict(found | {"execution_count": count})


def text_of(text, most=LONGEST):
    """A text that can be written as UTF-8, of bounded length."""
    return printable(text if isinstance(text, str) else "")[:most]


def written(notebook) -> str:
    """The notebook as text; if that is too long, without the outputs of what counts no points."""
    # The size is found before writing, as one large text may be shown in thousands of places.
    if sum(_size(output) for cell in notebook.cells for output in cell.get("outputs", ())) > (
        LONGEST_NOTEBOOK
    ):
        _drop(notebook)
    text = json.dumps(notebook, ensure_ascii=False)
    if len(text) > LONGEST_NOTEBOOK:
        _drop(notebook)
        text = json.dumps(notebook, ensure_ascii=False)
    return text


def _shortened(found):
    """The outputs of a cell, with so many lines of what it printed in all."""
    left, kept = MOST_LINES, []
    for output in found:
        if output.output_type == "stream":
            if not left:
                continue
            lines = output.text.split("\n")
            if len(lines) > left:
                lines = [*lines[: left - 1], words("judge.truncated")]
            left -= len(lines)
            output.text = "\n".join(lines)
        kept.append(output)
    return kept


def _ends(lines):
    """A traceback's first and last lines, where it has too many."""
    if not isinstance(lines, list) or len(lines) <= MOST_OF_TRACEBACK:
        return lines if isinstance(lines, list) else []
    half = MOST_OF_TRACEBACK // 2
    return [*lines[:half], words("judge.truncated_traceback"), *lines[1 - half :]]


def _drop(notebook):
    for cell in notebook.cells:
        graded = cell.metadata.get("nbgrader", {}).get("grade")
        if cell.cell_type == "code" and cell.outputs and not graded:
            cell.outputs = [stream(f"{words('judge.dropped')}\n")]


def _size(output):
    """Characters of an output."""
    texts = [output.get("text", ""), *output.get("traceback", ()), *output.get("data", {}).values()]
    return sum(map(len, texts))


def _data(data):
    known = data.items() if isinstance(data, dict) else ()
    return {
        kind: text_of(value)
        for kind, value in known
        if isinstance(kind, str) and isinstance(value, str) and KINDS.fullmatch(kind)
    }


def _metadata(metadata):
    """The sizes of pictures: a page shows nothing else of an output's metadata."""
    found = {}
    for kind, settings in metadata.items() if isinstance(metadata, dict) else ():
        if isinstance(settings, dict) and isinstance(kind, str) and KINDS.fullmatch(kind):
            sizes = {name: settings.get(name) for name in ("width", "height")}
            found[kind] = {name: size for name, size in sizes.items() if type(size) is int}
    return found
