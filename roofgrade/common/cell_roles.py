"""Reads a cell's role from its nbgrader metadata.

nbgrader has similar functions, but importing it takes longer than the rest of a worker's start.
"""


def is_grade(cell) -> bool:
    """Return whether the cell has points."""
    return bool(_read_marks(cell).get("grade"))


def is_solution(cell) -> bool:
    """Return whether the student fills in the cell."""
    return bool(_read_marks(cell).get("solution"))


def is_check(cell) -> bool:
    """Return whether the cell has points but is not filled in by the student."""
    return is_grade(cell) and not is_solution(cell)


def is_locked(cell) -> bool:
    """Return whether the student may not change the cell."""
    return not is_solution(cell) and (is_grade(cell) or bool(_read_marks(cell).get("locked")))


def read_grade_id(cell) -> str:
    """Return the cell's grade id, or "" if it has none."""
    return _read_marks(cell).get("grade_id", "")


def _read_marks(cell):
    return cell.metadata.get("nbgrader", {})
