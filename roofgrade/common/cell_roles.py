"""The role that nbgrader's metadata gives a cell.

nbgrader has these functions too, but importing it takes longer than the rest of a worker.
"""


def is_grade(cell) -> bool:
    """Return whether the cell has points."""
    return bool(_marks(cell).get("grade"))


def is_solution(cell) -> bool:
    """Return whether the cell is for the student to fill in."""
    return bool(_marks(cell).get("solution"))


def is_locked(cell) -> bool:
    """Return whether the student may not change the cell."""
    return not is_solution(cell) and (is_grade(cell) or bool(_marks(cell).get("locked")))


def _marks(cell):
    return cell.metadata.get("nbgrader", {})
