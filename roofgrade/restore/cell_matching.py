"""Which cell of a submitted notebook is which of the release's, where its names were lost."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nbformat import NotebookNode

from roofcheck.cells import question_call
from roofgrade.common.cell_roles import is_grade, is_solution
from roofgrade.restore.submitted_cells import SubmittedCell, find_bound_names, strip_lines

MARK_SCHEME = re.compile(r"### BEGIN MARK SCHEME.*?### END MARK SCHEME", re.DOTALL)


@dataclass
class Match:
    """Where each of the release's cells is, by grade id; what stood twice; what is left out.

    ``found`` gives positions among the submitted cells. Of the copies of an answer those that
    nobody changed are in ``dropped``: run again behind the answer, a stub would undo it.
    """

    places: dict[str, int] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    copied: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)


def match_cells(cells: Sequence[SubmittedCell], release: Mapping[str, NotebookNode]) -> Match:
    """Find the release's cells, given by grade id, among the submitted ones."""
    found = Match()
    for grade_id, original in release.items():
        named = [at for at, cell in enumerate(cells) if cell.grade_id == grade_id]
        if named:
            _choose_copy(found, grade_id, original, cells, named)
    for fits in (_has_its_id, _is_its_text, _asks_the_same):
        for grade_id, original in release.items():
            if grade_id not in found.places:
                free = _find_free(found, cells, release)
                if named := [at for at in free if fits(cells[at], original)]:
                    _choose_copy(found, grade_id, original, cells, named)
                    found.unnamed.append(grade_id)
    _find_answers(found, cells, release)
    return found


def _choose_copy(found, grade_id, original, cells, named):
    """Of several copies the last counts, as in nbgrader, but one with work before one without."""
    if len(named) > 1:
        found.copied.append(grade_id)
    if is_solution(original):
        stub = strip_lines(original.source)
        worked = [at for at in named if cells[at].stripped_lines != stub]
        untouched = [at for at in named if at not in worked]
        found.places[grade_id] = (worked or named)[-1]
        found.dropped.update(set(untouched) - {found.places[grade_id]})
    else:
        found.places[grade_id] = named[-1]


def _find_free(found, cells, release):
    """Where submitted cells stand that are nobody's yet and do not claim to be somebody's."""
    taken = found.dropped | set(found.places.values())
    return [at for at, cell in enumerate(cells) if at not in taken and cell.grade_id not in release]


def _has_its_id(cell, original):
    return cell.id == original.get("id", "")


def _is_its_text(cell, original):
    kind = cell.kind == original.cell_type
    given = MARK_SCHEME.sub("", original.source)  # no student has seen it
    return kind and not is_solution(original) and cell.stripped_lines == strip_lines(given)


def _asks_the_same(cell, original):
    """Whether this is a check whose answer was edited: it names the same question."""
    if not is_grade(original) or is_solution(original):
        return False
    theirs, ours = (question_call(source) for source in (cell.source, original.source))
    if cell.kind != "code" or not (theirs and ours):
        return False
    return (theirs.call, theirs.question) == (ours.call, ours.question)


def _find_answers(found, cells, release):
    """Find answers without names where they stood: between the same cells of the release."""
    order = list(release)
    for place, grade_id in enumerate(order):
        original = release[grade_id]
        if grade_id in found.places or not is_solution(original):
            continue
        before = next((found.places[o] for o in reversed(order[:place]) if o in found.places), -1)
        taken = set(found.places.values())
        behind = range(before + 1, min((at for at in taken if at > before), default=len(cells)))
        code = original.cell_type == "code"
        free = set(_find_free(found, cells, release)).intersection(behind)
        gap = sorted(at for at in free if (cells[at].kind == "code") is code)
        names = find_bound_names(original.source) if code else set()
        alike = [at for at in gap if cells[at].bound_names & names]
        if not alike and len(gap) == 1 and _is_only_missing(place, order, found, release):
            alike = gap
        if alike:
            _choose_copy(found, grade_id, original, cells, alike)
            found.unnamed.append(grade_id)


def _is_only_missing(place, order, found, release):
    """Whether no other answer of this kind is missing up to the next cell that is there."""
    kind = release[order[place]].cell_type
    for grade_id in order[place + 1 :]:
        if grade_id in found.places:
            return True
        if is_solution(release[grade_id]) and release[grade_id].cell_type == kind:
            return False
    return True
