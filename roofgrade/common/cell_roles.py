"""What nbgrader's metadata makes of a cell: a grade, a solution, or something to leave alone.

nbgrader has these functions too. To import them takes three times as long as all else that a worker
imports.
"""


def is_grade(cell) -> bool:
    """Whether the cell has points."""
    return bool(_marks(cell).get("grade"))


def is_solution(cell) -> bool:
    """Whether the cell is the student's to fill in."""
    return bool(_marks(cell).get("solution"))


def is_locked(cell) -> bool:
    """Whether the cell's source is that of the release."""
    return not is_solution(cell) and (is_grade(cell) or bool(_marks(cell).get("locked")))


def _marks(cell):
    return cell.metadata.get("nbgrader", {})
