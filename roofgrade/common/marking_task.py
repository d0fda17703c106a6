"""The task of marking one submission. Imports only the standard library, so workers start fast."""

from dataclasses import dataclass

CELL_SECONDS, NOTEBOOK_SECONDS = 30.0, 120.0


@dataclass(frozen=True, kw_only=True)
class Task:
    """One submission to mark.

    ``files`` maps the paths of the other submitted files to their contents. ``release_json`` is the
    released notebook with the gradebook's locked cells. ``secret`` seeds the student's cases.
    ``review_reason`` says why a person must check the result in any case. ``key`` is a hash of
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
