"""Shows each submission's state in a table for the terminal and on a page in ``autograded/``.

Some names, reasons and remarks come from students. They are escaped and contain only printable
characters.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import get_terminal_size
from textwrap import indent, wrap
from types import MappingProxyType

from roofcheck.study import page_templates
from roofgrade.common.results import GRADED, REFUSED, WAITING, Result
from roofgrade.common.sentences import escape_text, format_points, sentence
from roofgrade.gradebook.standings import NOT_SUBMITTED, Standing, is_settled
from rooflab.palette import colour

UNGRADED = "ungraded"
STATES = (GRADED, REFUSED, WAITING, UNGRADED)
INDENT = 4
TEMPLATE = Path(__file__).parent / "templates/summary.html.j2"
COLUMNS = ("student", "folder", "state", "points", "unread", "remarks")


@dataclass(frozen=True, kw_only=True)
class FolderRow:
    """A submitted folder with its state, and its student's points in the gradebook.

    ``points`` is None if the gradebook has none for this submission. ``unread`` lists the cells
    that have not been read, and ``flagged`` those that ``reason`` is about.
    """

    student: str
    folder: str
    state: str
    name: str = ""
    reason: str = ""
    remarks: tuple[str, ...] = ()
    counts: bool = False
    points: float | None = None
    unread: tuple[str, ...] = ()
    flagged: tuple[str, ...] = ()

    @classmethod
    def from_result(cls, result: Result, *remarks: str) -> "FolderRow":
        unsandboxed = () if result.sandboxed else (sentence("summary.unsandboxed"),)
        return cls(
            student=result.student, folder=result.folder, state=result.state, reason=result.reason,
            remarks=(*unsandboxed, *result.remarks, *remarks), counts=bool(result.notebook),
            flagged=result.flagged,
        )  # fmt: skip

    @property
    def notes(self) -> tuple[str, ...]:
        """The reason for the state, and all remarks."""
        return tuple(filter(None, (self.reason, *self.remarks)))


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The states of the folders of one set.

    ``worth`` is the set's points, and ``gone`` lists students with points whose folders are
    missing. ``stopped`` means that the run was interrupted.
    """

    assignment: str
    rows: tuple[FolderRow, ...]
    worth: float
    gone: tuple[str, ...] = ()
    stopped: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """The number of folders in each state, including states without folders."""
        counts = Counter(row.state for row in self.rows)
        return {state: counts[state] for state in STATES}

    def sentences(self) -> list[str]:
        """Return sentences with the counts and other remarks on the whole set."""
        counts = self.counts
        unread = sum(bool(row.unread) for row in self.rows)
        is_single = len(self.rows) == 1
        key = "summary.counts_one" if is_single else "summary.counts"
        if counts[UNGRADED]:
            key = "summary.counts_one_ungraded" if is_single else "summary.counts_ungraded"
        lines = [sentence(key, count=len(self.rows), assignment=self.assignment, **counts)]
        if unread:
            lines.append(sentence("summary.waiting", count=unread))
        if self.gone:
            shown = [*map(escape_text, self.gone[:10]), *(["…"] if len(self.gone) > 10 else [])]
            lines.append(sentence("summary.gone", students=", ".join(shown)))
        if self.stopped:
            lines.append(sentence("summary.stopped"))
        return lines

    def text(self, everything: bool = False) -> str:
        """Return the table for a terminal, with the rows that need attention or with all rows."""
        rows = [row for row in self.rows if everything or row.state != GRADED or row.notes]
        sentences = "\n".join(self.sentences())
        if not rows:
            return sentences
        head = [sentence(f"summary.{name}") for name in COLUMNS[:-1]]
        cells = [head, *([escape_text(cell) for cell in self._format_cells(row)] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [self._align(line, widths) for line in cells]
        room = max(40, get_terminal_size().columns - INDENT)
        table = lines[:1]
        for line, row in zip(lines[1:], rows, strict=True):
            notes = (part for note in row.notes for part in wrap(escape_text(note), room))
            table += [line, *(indent(part, " " * INDENT) for part in notes)]
        return "\n".join([*table, "", sentences])

    def page(self) -> str:
        """Return the whole table as one HTML file."""
        rows = [
            (row.state, map(escape_text, self._format_cells(row)), map(escape_text, row.notes))
            for row in self.rows
        ]
        template = page_templates.make_environment(TEMPLATE.parent).get_template(TEMPLATE.name)
        return template.render(
            language=sentence("language"), line=colour("line"), sentences=self.sentences(),
            title=sentence("summary.title", assignment=self.assignment), rows=rows,
            head=[sentence(f"summary.{name}") for name in COLUMNS],
        )  # fmt: skip

    @staticmethod
    def _align(line, widths):
        places = zip(COLUMNS, line, widths, strict=False)
        cells = (text.rjust(w) if name == "points" else text.ljust(w) for name, text, w in places)
        return "  ".join(cells).rstrip()

    def _format_cells(self, row):
        points = ""
        if row.points is not None:
            both = {"points": format_points(row.points), "most": format_points(self.worth)}
            points = sentence("summary.points_of", **both)
        unread = ", ".join(row.unread)
        if len(row.unread) > 2:
            unread = sentence("summary.cells", count=len(row.unread))
        # The state has a sign and a word, for readers who cannot see colours.
        state = sentence(f"summary.{row.state}")
        fields = {"student": row.student, "name": row.name}
        student = sentence("people.student", **fields) if row.name else row.student or "–"
        return student, row.folder, state, points or "–", unread


def summarise(
    assignment: str,
    rows: Iterable[FolderRow],
    standings: Mapping[str, Standing],
    worth: float,
    *,
    stopped: bool = False,
    remarks: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> Summary:
    """Combine rows with each student's standing and the ``remarks`` on feedback pages."""
    people = {student: standing.name for student, standing in standings.items()}
    rows = [replace(row, name=people.get(row.student, "")) for row in rows]
    rows.sort(key=lambda row: (row.student, row.folder))
    submitted = [name for name in standings if standings[name].state != NOT_SUBMITTED]
    standings = {name: standings[name] for name in submitted}
    counted = {row.student for row in rows if row.counts}
    return Summary(
        assignment=assignment,
        rows=tuple(_add_standing(row, standings, counted, remarks) for row in rows), worth=worth,
        gone=tuple(sorted(standings.keys() - {row.student for row in rows})), stopped=stopped,
    )  # fmt: skip


def _add_standing(row, standings, counted, remarks):
    standing = standings.get(row.student)
    if standing and row.counts:
        page_remarks = tuple(remarks.get(row.student, ()))
        if standing.penalty and standing.score is not None:
            penalty, before = format_points(standing.penalty), format_points(standing.score)
            late = sentence("summary.late", points=penalty, before=before)
            page_remarks = (late, *page_remarks)
        if row.state == WAITING and is_settled(row.flagged, standing):
            remark = sentence("summary.looked_at", reason=row.reason)
            row = replace(row, state=GRADED, reason="", remarks=(remark, *row.remarks))
        return replace(
            row, points=standing.provisional, unread=standing.waiting_cells,
            remarks=row.remarks + page_remarks,
        )  # fmt: skip
    if standing and row.student not in counted:
        return replace(row, remarks=(*row.remarks, sentence("summary.earlier")))
    return row
