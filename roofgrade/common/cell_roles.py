"""The role that nbgrader's metadata gives a cell.

nbgrader has these functions too, but importing it takes longer than the rest of a worker.
"""


def is_grade(cell) -> bool:
    """Return whether the cell has points."""
    return bool(_read_marks(cell).get("grade"))


def is_solution(cell) -> bool:
    """Return whether the cell is for the student to fill in."""
    return bool(_read_marks(cell).get("solution"))


def is_check(cell) -> bool:
    """Return whether the cell has points and is not for the student to fill in."""
    return is_grade(cell) and not is_solution(cell)


def is_locked(cell) -> bool:
    """Return whether the student may not change the cell."""
    return not is_solution(cell) and (is_grade(cell) or bool(_read_marks(cell).get("locked")))


def read_grade_id(cell) -> str:
    """Return the cell's grade id, or "" if it has none."""
    return _read_marks(cell).get("grade_id", "")


def _read_marks(cell):
    return cell.metadata.get("nbgrader", {})
