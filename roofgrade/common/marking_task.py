"""What a worker is given: all that it takes to mark one submission, anywhere.

It imports nothing else of the package, so that a worker starts fast.
"""

from dataclasses import dataclass

CELL_SECONDS, NOTEBOOK_SECONDS = 30.0, 120.0


@dataclass(frozen=True, kw_only=True)
class Task:
    """One submission to mark.

    ``files`` are those beside the notebook, by path; ``master`` is the notebook as released, with
    the locked cells as the gradebook has them, as JSON text. ``secret`` is what the student's cases
    follow from, ``needs`` why a person has to look whatever comes out, and ``key`` the hash of all
    that the result follows from.
    """

    student: str
    assignment: str
    folder: str
    notebook: bytes
    files: dict[str, bytes]
    release_json: str
    secret: str
    key: str
    submitted: str = ""
    remarks: tuple[str, ...] = ()
    review_reason: str = ""
    cell_seconds: float = CELL_SECONDS
    notebook_seconds: float = NOTEBOOK_SECONDS
