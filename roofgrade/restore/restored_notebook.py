"""Rebuilds the released notebook with the student's answers, and reports problems.

Only the text of a submitted notebook is kept, not its metadata, tags, outputs, kernel or format.
Changes by an editor, a converter or the student therefore cannot prevent grading.
"""

import ast
import copy
import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from roofgrade.common.cell_roles import is_check, is_solution, read_grade_id
from roofgrade.common.errors import RefusedError
from roofgrade.common.sentences import sentence
from roofgrade.restore.cell_matching import match_cells
from roofgrade.restore.submitted_cells import find_bound_names, read_cells, strip_lines

# If a student's own cells contain at least this many words, they may be the paragraph.
FEWEST_WORDS = 8
# A name in the first cell of a notebook downloaded from the course's site.
INSTALL_NAME = "install_course"
LINK = re.compile(r"\[([^\]]*)\]\([^)\s]+\)")


@dataclass(frozen=True, kw_only=True)
class RestoredNotebook:
    """A notebook that nbgrader can grade, with each grade id of the release exactly once.

    A person must read ``unread_paragraphs``: they are untouched, but the student wrote text
    elsewhere. ``edited_checks`` maps grade ids to the source of checks that the student edited.
    """

    notebook: NotebookNode
    remarks: tuple[str, ...] = ()
    unread_paragraphs: tuple[str, ...] = ()
    edited_checks: dict[str, str] = field(default_factory=dict)


def read_release(path: Path) -> NotebookNode:
    """Return a release's notebook, cached until the file's modification time changes."""
    return _read_version(path, path.stat().st_mtime_ns)


def restore_notebook(raw: bytes, release: NotebookNode) -> RestoredNotebook:
    """Rebuild the released notebook from a submitted one.

    Locked cells come from the release and answers from the student. The student's own cells stay
    where they are. Raises RefusedError, with a message for the student, if ``raw`` is not a
    notebook, is too large, or contains nothing from this release.
    """
    cells = read_cells(raw)
    known = {read_grade_id(cell): cell for cell in release.cells if "nbgrader" in cell.metadata}
    match = match_cells(cells, known)
    answered = set().union(*(cell.bound_names for cell in cells))
    if not _is_of_set(cells, known, match, answered):
        raise RefusedError(sentence("mend.other_set"))
    built = _build_cells(cells, known, match)
    missing = [grade_id for grade_id in known if grade_id not in match.places]
    for grade_id in missing:
        _insert_missing(built, grade_id, known, answered)
    moved = _move_checks_down(built, known)
    unread = _mark_unread(cells, match, known, built)
    answers = [name for name in missing if is_solution(known[name]) and name not in unread]
    lost = [name for name in answers if not find_bound_names(known[name].source) & answered]
    troubles = {
        "copied": match.copied,
        "unnamed": match.unnamed,
        "retyped": [n for n, i in match.places.items() if cells[i].kind != known[n].cell_type],
        "back": [grade_id for grade_id in missing if not is_solution(known[grade_id])],
        "lost": lost,
        "moved": moved,
        "own_text": unread,
    }
    remarks = [sentence(f"mend.{k}", cells=", ".join(ids)) for k, ids in troubles.items() if ids]
    edited_checks = {
        name: cells[place].source
        for name, place in match.places.items()
        if is_check(known[name]) and cells[place].stripped_lines != strip_lines(known[name].source)
    }
    version = {"nbformat": release.nbformat, "nbformat_minor": release.nbformat_minor}
    metadata = copy.deepcopy(release.metadata)
    notebook = NotebookNode(cells=built, metadata=metadata, **version)
    return RestoredNotebook(
        notebook=notebook, remarks=tuple(remarks), unread_paragraphs=tuple(unread),
        edited_checks=edited_checks,
    )  # fmt: skip


def find_added_answers(notebook: NotebookNode, release: NotebookNode) -> set[tuple[str, str]]:
    """Return the (cell id, source) pairs that a restored notebook adds to the release.

    The student's own cells have the id "".
    """
    stubs = {cell.id: strip_lines(cell.source) for cell in release.cells}
    cells = {(cell.id if cell.id in stubs else "", cell.source.strip()) for cell in notebook.cells}
    return {(name, source) for name, source in cells if strip_lines(source) != stubs.get(name)}


@functools.lru_cache(maxsize=32)
def _read_version(path, changed):
    return nbformat.read(path, as_version=4)


def _is_of_set(cells, known, match, answered):
    """Return whether this is the set's notebook. Other sets use some of the same names."""
    has_checks = any(is_check(known[name]) for name in match.places)
    if has_checks or any(cell.grade_id in known for cell in cells):
        return True
    foreign = any(cell.grade_id for cell in cells)
    return not foreign and bool(match.places or answered & _stub_names(known))


def _build_cells(cells, known, match):
    names = {place: grade_id for grade_id, place in match.places.items()}
    built = []
    for place, cell in enumerate(cells):
        if place in names:
            original = copy.deepcopy(known[names[place]])
            built.append(_fill_cell(original, cell) if is_solution(original) else original)
        elif place not in match.dropped and cell.source.strip():
            built.append(_make_own_cell(cell, f"own-{place}"))
    return built


def _fill_cell(original, cell):
    """Put the student's answer into the release's cell. A cleared paragraph stays unanswered."""
    empty = original.cell_type == "markdown" and not cell.source.strip()
    if not empty and cell.stripped_lines != strip_lines(original.source):
        original.source = cell.source
    if original.cell_type == "markdown" and cell.attachments:
        original.attachments = nbformat.from_dict(cell.attachments)
    return original


def _make_own_cell(cell, cell_id):
    own_cell = {"cell_type": cell.kind, "id": cell_id, "metadata": {}, "source": cell.source}
    if cell.kind == "code":
        own_cell |= {"execution_count": None, "outputs": []}
    elif cell.attachments:
        own_cell["attachments"] = cell.attachments
    return nbformat.from_dict(own_cell)


def _insert_missing(built, grade_id, known, answered):
    """Insert a missing cell after its predecessor in the release, which is already there.

    An answer's stub is restored only if the student does not assign its names elsewhere: a later
    ``ridge = ...`` would undo the answer.
    """
    order = list(known)
    fresh = copy.deepcopy(known[grade_id])
    names = find_bound_names(fresh.source) & answered
    if is_solution(fresh) and fresh.cell_type == "code" and names:
        fresh.source = sentence("mend.gone", names=", ".join(sorted(names)))
    rank = order.index(grade_id)
    built.insert(_find_place(built, order[rank - 1]) + 1 if rank else 0, fresh)


def _move_checks_down(built, known):
    """Move locked code that uses an answer below the first cell that assigns it.

    An answer below its check then counts, as it did on the student's screen. Returns the moved ids.
    """
    answers = _stub_names(known)
    assigned = {id(cell): _assigned_names(cell, known) for cell in built}
    moved = []
    # Going backwards keeps the order of cells that move below the same one.
    for grade_id, cell in reversed(known.items()):
        if cell.cell_type != "code" or is_solution(cell):
            continue
        place = target = _find_place(built, grade_id)
        for name in _used_names(cell.source) & answers:
            places = (index for index, other in enumerate(built) if name in assigned[id(other)])
            target = max(target, next(places, -1))
        if target > place:
            built.insert(target, built.pop(place))
            moved.insert(0, grade_id)
    return moved


def _assigned_names(cell, known):
    original = known.get(read_grade_id(cell))
    is_students = original is None or (is_solution(original) and cell.source != original.source)
    return find_bound_names(cell.source) if is_students and cell.cell_type == "code" else set()


def _mark_unread(cells, match, known, built):
    """Mark and return the untouched paragraphs of a student who wrote text elsewhere."""
    paragraphs = {
        grade_id: cell.source
        for grade_id, cell in known.items()
        if is_solution(cell) and cell.cell_type == "markdown"
    }
    untouched = [cell for cell in built if cell.source == paragraphs.get(read_grade_id(cell))]
    if not untouched or not _has_prose(cells, match, known):
        return []
    for cell in untouched:
        # nbgrader would score an unchanged paragraph 0 without showing it to a person.
        cell.source += f"\n\n{sentence('mend.read_elsewhere')}"
    return [read_grade_id(cell) for cell in untouched]


def _has_prose(cells, match, known):
    """Return whether cells other than the answers contain text that is not from the release."""
    released = {_strip_links(line) for cell in known.values() for line in cell.source.splitlines()}
    answers = {place for name, place in match.places.items() if is_solution(known[name])}
    written = 0
    for place, cell in enumerate(cells):
        if place in answers or INSTALL_NAME in cell.bound_names:
            continue
        for line in cell.source.splitlines():
            count = 0 if _strip_links(line) in released else len(re.findall(r"[^\W\d_]{2,}", line))
            # In code, a long line of words is a comment, a string, or text in the wrong cell.
            if cell.kind != "code" or (count >= FEWEST_WORDS and line.count(" ") >= FEWEST_WORDS):
                written += count
    return written >= FEWEST_WORDS


def _strip_links(line):
    """Remove the targets of a line's links, since they depend on the notebook's folder."""
    return LINK.sub(r"\1", line).strip()


def _stub_names(known):
    stubs = [cell for cell in known.values() if is_solution(cell) and cell.cell_type == "code"]
    return {name for cell in stubs for name in find_bound_names(cell.source)}


def _used_names(source):
    """Return the names that a cell of the release uses, or none if it has magics."""
    try:
        return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    except SyntaxError:
        return set()


def _find_place(built, grade_id):
    return next(place for place, cell in enumerate(built) if read_grade_id(cell) == grade_id)
