"""The task of marking one submission. Imports nothing of the package, so a worker starts fast."""

from dataclasses import dataclass

CELL_SECONDS, NOTEBOOK_SECONDS = 30.0, 120.0


@dataclass(frozen=True, kw_only=True)
class Task:
    """One submission to mark.

    ``files`` are those next to the notebook, by path. ``release_json`` is the released notebook,
    with the locked cells as the gradebook has them. ``secret`` seeds the student's cases,
    ``review_reason`` says why a person has to look in any case, and ``key`` is the hash of
    everything that the result depends on.
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
