"""The release's notebook, built anew with the student's words in it, and what was wrong with it.

Nothing of a submitted notebook is kept but its text: not its metadata, tags, outputs, kernel or
format. So it can be graded whatever an editor, a converter or a student did to it.
"""

import ast
import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import nbformat
from nbformat import NotebookNode

from roofgrade.common.cell_roles import is_grade, is_solution
from roofgrade.common.errors import RefusedError
from roofgrade.common.sentences import sentence
from roofgrade.restore.cell_matching import Match, match_cells
from roofgrade.restore.submitted_cells import (
    SubmittedCell,
    find_bound_names,
    read_cells,
    strip_lines,
)

# From this many words on, text in a cell of the student's own may be the paragraph.
FEWEST_WORDS = 8
# What the cell defines that a notebook begins with when it was downloaded from the course's site.
INSTALL_NAME = "install_course"
LINK = re.compile(r"\[([^\]]*)\]\([^)\s]+\)")


@dataclass(frozen=True, kw_only=True)
class RestoredNotebook:
    """A notebook that nbgrader can grade, with every grade id of the release exactly once.

    ``lost`` names the answers that were deleted and stand nowhere else; ``own_text`` the paragraphs
    left untouched by a student who wrote text elsewhere, for a person to read. ``checks`` holds, by
    grade id, the source of each check that the student edited.
    """

    notebook: NotebookNode
    lost_answers: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    unread_paragraphs: tuple[str, ...] = ()
    edited_checks: dict[str, str] = field(default_factory=dict)


def restore_notebook(raw: bytes, release: NotebookNode) -> RestoredNotebook:
    """Build the release's notebook anew from a submitted one.

    Answers come from the cells that hold them, the student's own cells stay where they are, locked
    cells are the release's. Raises RefusedError, with words for the student, if ``raw`` is no
    notebook, is beyond the bounds of ``cells``, or has nothing of this release in it.
    """
    cells = read_cells(raw)
    known = {c.metadata.nbgrader.grade_id: c for c in release.cells if "nbgrader" in c.metadata}
    where = match_cells(cells, known)
    answered = set().union(*(cell.bound_names for cell in cells))
    if not _is_of_set(cells, known, where, answered):
        raise RefusedError(sentence("mend.other_set"))
    built = _build_cells(cells, known, where)
    missing = [grade_id for grade_id in known if grade_id not in where.places]
    for grade_id in missing:
        _insert_missing(built, grade_id, known, answered)
    moved = _move_checks_down(built, known)
    own_text = _mark_unread(cells, where, known, built)
    lost = [
        grade_id
        for grade_id in missing
        if is_solution(known[grade_id])
        and grade_id not in own_text
        and not find_bound_names(known[grade_id].source) & answered
    ]
    back = [grade_id for grade_id in missing if not is_solution(known[grade_id])]
    retyped = [name for name, at in where.places.items() if cells[at].kind != known[name].cell_type]
    return RestoredNotebook(
        notebook=NotebookNode(
            cells=built,
            metadata=copy.deepcopy(release.metadata),
            nbformat=release.nbformat,
            nbformat_minor=release.nbformat_minor,
        ),
        lost_answers=tuple(lost),
        remarks=tuple(
            sentence(f"mend.{what}", cells=", ".join(names))
            for what, names in (
                ("copied", where.copied),
                ("unnamed", where.unnamed),
                ("retyped", retyped),
                ("back", back),
                ("lost", lost),
                ("moved", moved),
                ("own_text", own_text),
            )
            if names
        ),
        unread_paragraphs=tuple(own_text),
        edited_checks={
            name: cells[at].source
            for name, at in where.places.items()
            if _is_check(known[name])
            and cells[at].stripped_lines != strip_lines(known[name].source)
        },
    )


def find_added_answers(notebook: NotebookNode, release: NotebookNode) -> set[tuple[str, str]]:
    """What a mended notebook holds that the release does not: answers by id, own cells without."""
    given = {cell.id: strip_lines(cell.source) for cell in release.cells}
    found = {(cell.id if cell.id in given else "", cell.source.strip()) for cell in notebook.cells}
    return {(name, source) for name, source in found if strip_lines(source) != given.get(name)}


def _is_of_set(cells, known, where, answered):
    """Whether this is the release's, however little of it is left; other sets share some names."""
    if any(cell.grade_id in known for cell in cells) or any(
        map(_is_check, [known[name] for name in where.places])
    ):
        return True
    foreign = any(cell.grade_id for cell in cells)
    return not foreign and bool(where.places or answered & _stub_names(known))


def _build_cells(cells, known, where: Match):
    """The notebook's cells in the student's order, without those that are missing."""
    names = {at: grade_id for grade_id, at in where.places.items()}
    built = []
    for at, cell in enumerate(cells):
        if at in names:
            original = copy.deepcopy(known[names[at]])
            built.append(_fill_cell(original, cell) if is_solution(original) else original)
        elif at not in where.dropped and cell.source.strip():
            built.append(_make_own_cell(cell, f"own-{at}"))
    return built


def _fill_cell(original, cell: SubmittedCell):
    """The release's cell with the student's answer; an emptied paragraph is an unanswered one."""
    empty = original.cell_type == "markdown" and not cell.source.strip()
    if not empty and cell.stripped_lines != strip_lines(original.source):
        original.source = cell.source
    if original.cell_type == "markdown" and cell.attachments:
        original.attachments = nbformat.from_dict(cell.attachments)
    return original


def _make_own_cell(cell: SubmittedCell, cell_id):
    own = {"cell_type": cell.kind, "id": cell_id, "metadata": {}, "source": cell.source}
    if cell.kind == "code":
        own |= {"execution_count": None, "outputs": []}
    elif cell.attachments:
        own["attachments"] = cell.attachments
    return nbformat.from_dict(own)


def _insert_missing(built, grade_id, known, answered):
    """Put a missing cell behind the one before it in the release; all earlier ones are there.

    An answer returns as it was handed out, except where the student assigns its names elsewhere:
    run after that, ``ridge = ...`` would undo the answer.
    """
    order = list(known)
    fresh = copy.deepcopy(known[grade_id])
    if (
        is_solution(fresh)
        and fresh.cell_type == "code"
        and find_bound_names(fresh.source) & answered
    ):
        fresh.source = sentence(
            "mend.gone", names=", ".join(sorted(find_bound_names(fresh.source) & answered))
        )
    place = order.index(grade_id)
    at = _find_place(built, order[place - 1]) + 1 if place else 0
    built.insert(at, fresh)


def _move_checks_down(built, known):
    """Move locked code that looks at an answer behind the first cell that gives it, if it is above.

    So an answer written below its check counts, as it did on the student's screen. Returns whose
    cells were moved.
    """
    answers = _stub_names(known)
    given = {id(cell): _assigned_names(cell, known) for cell in built}
    moved = []
    # From the last on, so that those that go behind the same cell keep their order.
    for grade_id in reversed([name for name, cell in known.items() if _is_locked_code(cell)]):
        here = behind = _find_place(built, grade_id)
        for name in _used_names(known[grade_id].source) & answers:
            places = (at for at, cell in enumerate(built) if name in given[id(cell)])
            behind = max(behind, next(places, -1))
        if behind > here:
            built.insert(behind, built.pop(here))
            moved.insert(0, grade_id)
    return moved


def _assigned_names(cell, known):
    """The names that a cell assigns, if it is code of the student's."""
    original = known.get(_read_grade_id(cell))
    theirs = original is None or (is_solution(original) and cell.source != original.source)
    return find_bound_names(cell.source) if theirs and cell.cell_type == "code" else set()


def _mark_unread(cells: Sequence[SubmittedCell], where: Match, known, built):
    """The untouched paragraphs of a student who wrote text elsewhere; marks them in ``built``."""
    untouched = [
        cell
        for cell in built
        if (original := known.get(_read_grade_id(cell))) is not None
        and is_solution(original)
        and original.cell_type == "markdown"
        and cell.source == original.source
    ]
    if not untouched or not _has_prose(cells, where, known):
        return []
    for cell in untouched:
        # nbgrader gives an unchanged paragraph 0 and shows it to nobody.
        cell.source += f"\n\n{sentence('mend.read_elsewhere')}"
    return [_read_grade_id(cell) for cell in untouched]


def _has_prose(cells, where, known):
    """Whether text that is not the release's stands in cells that are not for it."""
    given = {_strip_links(line) for cell in known.values() for line in cell.source.splitlines()}
    answers = {at for name, at in where.places.items() if is_solution(known[name])}
    written = 0
    for at, cell in enumerate(cells):
        if at in answers or INSTALL_NAME in cell.bound_names:
            continue
        for line in cell.source.splitlines():
            count = 0 if _strip_links(line) in given else len(re.findall(r"[^\W\d_]{2,}", line))
            # In code a long line of words is a comment, a string, or text in the wrong cell.
            if cell.kind != "code" or (count >= FEWEST_WORDS and line.count(" ") >= FEWEST_WORDS):
                written += count
    return written >= FEWEST_WORDS


def _strip_links(line):
    """A line of text without the places that its links lead to, which follow from where it lies."""
    return LINK.sub(r"\1", line).strip()


def _stub_names(known):
    """The names that the stubs of the release assign."""
    stubs = [cell for cell in known.values() if is_solution(cell) and cell.cell_type == "code"]
    return {name for cell in stubs for name in find_bound_names(cell.source)}


def _used_names(source):
    """The names that a cell of the release looks at; of one with magics it cannot be told."""
    try:
        return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    except SyntaxError:
        return set()


def _is_locked_code(cell):
    return cell.cell_type == "code" and not is_solution(cell)


def _is_check(cell):
    return _is_locked_code(cell) and is_grade(cell)


def _read_grade_id(cell):
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def _find_place(built, grade_id):
    return next(at for at, cell in enumerate(built) if _read_grade_id(cell) == grade_id)
