"""Makes a student's cell outputs well-formed, bounded and free of executable content."""

import json
import re

from nbformat import NotebookNode, from_dict

from roofgrade.common.cell_roles import is_grade
from roofgrade.common.sentences import replace_surrogates, sentence

# The maximum number of characters in one piece of data, and in a notebook's outputs.
LONGEST = 2 << 20
LONGEST_NOTEBOOK = 10 << 20
# The maximum number of outputs of one cell, and of a notebook.
MOST_OUTPUTS, MOST_IN_ALL = 1_000, 20_000
# The maximum number of printed lines per cell, and of a traceback; both as in nbgrader.
MOST_LINES, MOST_OF_TRACEBACK = 1_000, 100
LONGEST_ID = 200
# Scripts cannot be shown safely, and widgets cannot be shown at all, so both are dropped.
SAFE_KINDS = re.compile(r"text/(plain|html|markdown|latex)|image/(png|jpeg|gif|svg\+xml)")


class OutputCleaner:
    """Converts the outputs in a process's replies to nbformat, and remembers its displays."""

    def __init__(self):
        self._displayed, self._room = {}, MOST_IN_ALL

    def clean(self, reply: dict) -> list:
        """Return the outputs in the reply to one cell as nbformat, without malformed ones."""
        cleaned = []
        outputs = reply.get("outputs")
        for output in outputs[:MOST_OUTPUTS] if isinstance(outputs, list) else ():
            if isinstance(output, dict) and self._room > 0:
                clean = self._clean_output(output, reply.get("count"))
                cleaned += [clean] if clean else []
                self._room -= bool(clean)
        return _shorten_streams(cleaned)

    def _clean_output(self, output, count):
        match output.get("output_type"):
            case "stream":
                name = "stderr" if output.get("name") == "stderr" else "stdout"
                return make_stream(bound_text(output.get("text")), name)
            case "error":
                lines = output.get("traceback")
                name, value = output.get("ename"), bound_text(output.get("evalue"), 10_000)
                lines = [bound_text(line, 100_000) for line in _shorten_traceback(lines)]
                return make_error(bound_text(name, 200), value, lines)
            case "execute_result":
                data, metadata = output.get("data"), _clean_metadata(output.get("metadata"))
                return make_result(_clean_data(data), count, metadata)
            case "display_data":
                fields = {"output_type": "display_data", "data": _clean_data(output.get("data"))}
                clean = from_dict(fields | {"metadata": _clean_metadata(output.get("metadata"))})
                if isinstance(display := output.get("display_id"), str):
                    clean.data = self._share_display(display, clean.data)
                return clean
            case "update":
                display = str(output.get("display_id"))
                if display[:LONGEST_ID] in self._displayed:
                    self._share_display(display, _clean_data(output.get("data")))
        return None

    def _share_display(self, display, data):
        """Set the data of all displays with this id to ``data``, and return it.

        The displays share one object, so updating thousands of them costs the same as one.
        """
        shared = self._displayed.setdefault(display[:LONGEST_ID], NotebookNode())
        shared.clear()
        shared.update(data)
        return shared


# nbformat's own functions validate each output against a schema, which is slow.


def make_stream(text, name="stdout"):
    return from_dict({"output_type": "stream", "name": name, "text": text})


def make_error(name, value, lines):
    return from_dict({"output_type": "error", "ename": name, "evalue": value, "traceback": lines})


def make_result(data, count, metadata=None):
    output = {"output_type": "execute_result", "data": data, "metadata": metadata or {}}
    return from_dict(output | {"execution_count": count})


def bound_text(text, most=LONGEST):
    """Return text cut to ``most`` characters and encodable as UTF-8, or "" if it is not text."""
    return replace_surrogates(text if isinstance(text, str) else "")[:most]


def format_notebook(notebook) -> str:
    """Return the notebook as JSON. If that is too long, only graded cells keep their outputs."""
    # Add up the sizes before writing, since thousands of displays may share one large text.
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    if sum(map(_count_characters, outputs)) > LONGEST_NOTEBOOK:
        _drop_outputs(notebook)
    text = json.dumps(notebook, ensure_ascii=False)
    if len(text) > LONGEST_NOTEBOOK:
        _drop_outputs(notebook)
        text = json.dumps(notebook, ensure_ascii=False)
    return text


def _shorten_streams(cleaned):
    left, outputs = MOST_LINES, []
    for output in cleaned:
        if output.output_type == "stream":
            if not left:
                continue
            lines = output.text.split("\n")
            if len(lines) > left:
                lines = [*lines[: left - 1], sentence("judge.truncated")]
            left -= len(lines)
            output.text = "\n".join(lines)
        outputs.append(output)
    return outputs


def _shorten_traceback(lines):
    if not isinstance(lines, list) or len(lines) <= MOST_OF_TRACEBACK:
        return lines if isinstance(lines, list) else []
    half = MOST_OF_TRACEBACK // 2
    return [*lines[:half], sentence("judge.truncated_traceback"), *lines[1 - half :]]


def _drop_outputs(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.outputs and not is_grade(cell):
            cell.outputs = [make_stream(f"{sentence('judge.dropped')}\n")]


def _count_characters(output):
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
    """Return the sizes of pictures, the only output metadata that pages use."""
    kinds = {}
    for kind, settings in metadata.items() if isinstance(metadata, dict) else ():
        if isinstance(settings, dict) and isinstance(kind, str) and SAFE_KINDS.fullmatch(kind):
            sizes = {name: settings.get(name) for name in ("width", "height")}
            kinds[kind] = {name: size for name, size in sizes.items() if type(size) is int}
    return kinds
