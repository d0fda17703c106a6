"""What editors, converters and students do to a notebook, each as a change of its JSON."""

import copy
import json

from homework import ROOT, notebook

RELEASE = notebook(ROOT, "exercises", "ps1")
RELEASED = (ROOT / "exercises/en/ps1/ps1.ipynb").read_bytes()


def cell(nb, grade_id):
    """The cell of this name."""
    return nb["cells"][place(nb, grade_id)]


def place(nb, grade_id):
    """Where the cell of this name stands."""
    return next(at for at, each in enumerate(nb["cells"]) if each.get("id") == grade_id)


def own(source, kind="code"):
    """A cell that a student adds."""
    made = {"cell_type": kind, "id": f"mine-{abs(hash(source)) % 10**8}", "metadata": {}}
    more = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return made | more | {"source": source}


def text(grade_id):
    """The source of the release's cell of this name."""
    return next(each.source for each in RELEASE.cells if each.id == grade_id)


def duplicate(nb, *grade_ids, source=None):
    """Copy a cell as an editor's Duplicate does: below it, with its metadata and another id."""
    for grade_id in grade_ids:
        twin = copy.deepcopy(cell(nb, grade_id))
        twin["id"] = f"{grade_id}-twin"
        if source is not None:
            twin["source"] = source
        nb["cells"].insert(place(nb, grade_id) + 1, twin)


def delete(nb, *grade_ids):
    nb["cells"] = [each for each in nb["cells"] if each.get("id") not in grade_ids]


def lose_metadata(nb):
    """Save as an editor does that keeps neither metadata nor ids."""
    for each in nb["cells"]:
        each["metadata"] = {}
        each.pop("id", None)


def schema(version):
    """Give the cells this version of nbgrader's metadata, or none."""

    def change(nb):
        for each in nb["cells"]:
            each["metadata"]["nbgrader"].pop("schema_version")
            if version is not None:
                each["metadata"]["nbgrader"]["schema_version"] = version

    return change


def format_3(nb):
    """Save as Jupyter did before 2015."""
    for each in nb["cells"]:
        if each["cell_type"] == "code":
            each |= {"input": each.pop("source"), "language": "python", "collapsed": False}
            each["prompt_number"] = each.pop("execution_count")
        each.pop("id", None)
    nb["worksheets"] = [{"cells": nb.pop("cells"), "metadata": {}}]
    nb |= {"nbformat": 3, "nbformat_minor": 0}


def move_below(nb, grade_id, behind):
    """Leave a stub as it was, and answer in a cell of one's own behind another."""
    answer = "".join(cell(nb, grade_id)["source"])
    cell(nb, grade_id)["source"] = text(grade_id)
    nb["cells"].insert(place(nb, behind) + 1, own(answer))


def answer_on_top(nb, grade_id):
    """Delete an answer's cell, and answer in one of one's own near the top."""
    answer = "".join(cell(nb, grade_id)["source"])
    delete(nb, grade_id)
    nb["cells"].insert(place(nb, "ps1-me-text"), own(answer))


def paragraph_elsewhere(nb):
    """Leave the paragraph's cell as it was, and write into a new one."""
    words = "".join(cell(nb, "ps1-paragraph")["source"])
    cell(nb, "ps1-paragraph")["source"] = text("ps1-paragraph")
    nb["cells"].append(own(words, "markdown"))


def retype(nb, grade_id, kind):
    changed = cell(nb, grade_id)
    changed["cell_type"] = kind
    for key in ("outputs", "execution_count"):
        changed.pop(key, None)
    if kind == "code":
        changed |= {"outputs": [], "execution_count": None}


def made(*changes):
    """A notebook with every answer right, after these changes of its JSON, as a file's bytes."""
    nb = json.loads(RELEASED)
    for answer in notebook(ROOT, "solutions", "ps1").cells:
        if answer.metadata.nbgrader.solution:
            cell(nb, answer.id)["source"] = answer.source
    for change in changes:
        change(nb)
    return json.dumps(nb).encode()
