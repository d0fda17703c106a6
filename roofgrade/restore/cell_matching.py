"""Matches submitted cells to the release's cells, with or without grade ids."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nbformat import NotebookNode

from roofcheck.cells import question_call
from roofgrade.common.cell_roles import is_check, is_solution
from roofgrade.restore.submitted_cells import SubmittedCell, find_bound_names, strip_lines

MARK_SCHEME = re.compile(r"### BEGIN MARK SCHEME.*?### END MARK SCHEME", re.DOTALL)


@dataclass
class Match:
    """The match between submitted cells and the release's, by grade id.

    ``places`` maps each matched cell to its position. ``copied`` lists the cells that had several
    copies, and ``unnamed`` those that had lost their id. ``dropped`` has the positions of untouched
    copies of an answered cell: running such a stub after the answer would undo it.
    """

    places: dict[str, int] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    copied: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)


def match_cells(cells: Sequence[SubmittedCell], release: Mapping[str, NotebookNode]) -> Match:
    """Match submitted cells to the release's cells, which are given by grade id."""
    match = Match()
    for grade_id, original in release.items():
        copies = [place for place, cell in enumerate(cells) if cell.grade_id == grade_id]
        if copies:
            _choose_copy(match, grade_id, original, cells, copies)
    for fits in (_has_same_id, _has_same_text, _asks_the_same):
        for grade_id, original in release.items():
            if grade_id not in match.places:
                free = _find_free(match, cells, release)
                if copies := [place for place in free if fits(cells[place], original)]:
                    _choose_copy(match, grade_id, original, cells, copies)
                    match.unnamed.append(grade_id)
    _find_answers(match, cells, release)
    return match


def _choose_copy(match, grade_id, original, cells, copies):
    """Choose the last of several copies, as nbgrader does, but prefer a copy with work in it."""
    if len(copies) > 1:
        match.copied.append(grade_id)
    if is_solution(original):
        stub = strip_lines(original.source)
        worked = [place for place in copies if cells[place].stripped_lines != stub]
        match.places[grade_id] = (worked or copies)[-1]
        match.dropped.update(set(copies) - set(worked) - {match.places[grade_id]})
    else:
        match.places[grade_id] = copies[-1]


def _find_free(match, cells, release):
    """List the positions of unmatched submitted cells without a grade id of the release."""
    taken = match.dropped | set(match.places.values())
    free = [place for place in range(len(cells)) if place not in taken]
    return [place for place in free if cells[place].grade_id not in release]


def _has_same_id(cell, original):
    return cell.id == original.get("id", "")


def _has_same_text(cell, original):
    is_of_type = cell.kind == original.cell_type and not is_solution(original)
    released = MARK_SCHEME.sub("", original.source)  # Students never see the mark scheme.
    return is_of_type and cell.stripped_lines == strip_lines(released)


def _asks_the_same(cell, original):
    """Return whether this is an edited check that still names the same question."""
    if not is_check(original) or cell.kind != "code":
        return False
    theirs, ours = question_call(cell.source), question_call(original.source)
    if not (theirs and ours):
        return False
    return (theirs.call, theirs.question) == (ours.call, ours.question)


def _find_answers(match, cells, release):
    """Match answers without ids by their position between other cells of the release."""
    order = list(release)
    for rank, grade_id in enumerate(order):
        original = release[grade_id]
        if grade_id in match.places or not is_solution(original):
            continue
        before = next((match.places[o] for o in reversed(order[:rank]) if o in match.places), -1)
        taken = set(match.places.values())
        after = min((place for place in taken if place > before), default=len(cells))
        code = original.cell_type == "code"
        free = [place for place in _find_free(match, cells, release) if before < place < after]
        gap = [place for place in free if (cells[place].kind == "code") is code]
        names = find_bound_names(original.source) if code else set()
        copies = [place for place in gap if cells[place].bound_names & names]
        if not copies and len(gap) == 1 and _is_only_missing(rank, order, match, release):
            copies = gap
        if copies:
            _choose_copy(match, grade_id, original, cells, copies)
            match.unnamed.append(grade_id)


def _is_only_missing(rank, order, match, release):
    """Return whether no other answer of this type is missing up to the next matched cell."""
    kind = release[order[rank]].cell_type
    for grade_id in order[rank + 1 :]:
        if grade_id in match.places:
            return True
        if is_solution(release[grade_id]) and release[grade_id].cell_type == kind:
            return False
    return True
