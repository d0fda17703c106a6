"""What became of each submission: a table for the terminal, and a page beside the graded ones.

Names, reasons and remarks come from students in part: on the page they are escaped, on the terminal
they hold nothing but what can be printed.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from shutil import get_terminal_size
from textwrap import indent, wrap
from types import MappingProxyType

from roofgrade.common.results import GRADED, PERSON, REFUSED, Result
from roofgrade.common.sentences import escaped, number, words
from roofgrade.gradebook.standing import NOTHING, Standing, is_settled
from rooflab.palette import colour

UNGRADED = "ungraded"
STATES = (GRADED, REFUSED, PERSON, UNGRADED)
INDENT = 4
PAGE = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ font: 16px/1.4 sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em }}
div {{ overflow-x: auto }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ border-bottom: 1px solid {line}; padding: 0.3em 0.8em; text-align: left;
  vertical-align: top; max-width: 15em; overflow-wrap: break-word }}
td:nth-child(3), td:nth-child(4) {{ white-space: nowrap }}
td:last-child {{ min-width: 15em; max-width: none; overflow-wrap: anywhere }}
.refused, .person, .ungraded {{ font-weight: bold }}
</style>
</head>
<body>
<h1>{title}</h1>
{said}
<div>
<table>
<thead><tr>{head}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</div>
</body>
</html>
"""
HEAD = ("student", "folder", "state", "points", "unread", "remarks")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One folder that came in: what became of it, and what the gradebook says of its student.

    ``points`` is None where the gradebook has none of this submission; ``unread`` are the cells
    that wait for a person there, ``flagged`` those that ``reason`` is about.
    """

    student: str
    folder: str
    state: str
    reason: str = ""
    remarks: tuple[str, ...] = ()
    counts: bool = False
    points: float | None = None
    unread: tuple[str, ...] = ()
    flagged: tuple[str, ...] = ()

    @classmethod
    def of(cls, result: Result, *remarks: str) -> "Row":
        """The row of a result."""
        bare = () if result.sandboxed else (words("summary.unsandboxed"),)
        return cls(
            student=result.student, folder=result.folder, state=result.state, reason=result.reason,
            remarks=(*bare, *result.remarks, *remarks), counts=bool(result.notebook),
            flagged=result.flagged,
        )  # fmt: skip

    @property
    def notes(self) -> tuple[str, ...]:
        """Why it is in this state, and what was noticed."""
        return tuple(filter(None, (self.reason, *self.remarks)))

    @property
    def calls(self) -> bool:
        """Whether someone should look at this row."""
        return self.state != GRADED or bool(self.notes)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What became of the folders of one set.

    ``worth`` is what the set is worth, in points; ``gone`` are students with points whose folders
    are no longer there; ``stopped`` says that the run was interrupted.
    """

    assignment: str
    rows: tuple[Row, ...]
    worth: float
    gone: tuple[str, ...] = ()
    stopped: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """How many folders are in each state; together they are all folders."""
        found = Counter(row.state for row in self.rows)
        return {state: found[state] for state in STATES}

    def said(self) -> list[str]:
        """The counts and what else there is to say, in sentences."""
        counts = self.counts
        unread = sum(bool(row.unread) for row in self.rows)
        one = len(self.rows) == 1
        key = "summary.counts_one" if one else "summary.counts"
        if counts[UNGRADED]:
            key = "summary.counts_one_ungraded" if one else "summary.counts_ungraded"
        lines = [words(key, count=len(self.rows), assignment=self.assignment, **counts)]
        if unread:
            lines.append(words("summary.waiting", count=unread))
        if self.gone:
            key = "summary.gone" if len(self.gone) <= 10 else "summary.gone_many"
            lines.append(words(key, students=", ".join(map(escaped, self.gone[:10]))))
        if self.stopped:
            lines.append(words("summary.stopped"))
        return lines

    def text(self, everything: bool = False) -> str:
        """For a terminal: the rows that someone should look at, or all, and the counts."""
        rows = [row for row in self.rows if everything or row.calls]
        said = "\n".join(self.said())
        if not rows:
            return said
        head = [words(f"summary.{name}") for name in HEAD[:-1]]
        cells = [head, *([escaped(cell) for cell in self._cells(row)] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [self._aligned(line, widths) for line in cells]
        room = max(40, get_terminal_size().columns - INDENT)
        table = lines[:1]
        for line, row in zip(lines[1:], rows, strict=True):
            notes = (part for note in row.notes for part in wrap(escaped(note), room))
            table += [line, *(indent(part, " " * INDENT) for part in notes)]
        return "\n".join([*table, "", said])

    def page(self) -> str:
        """The whole table as a page that needs nothing beside it."""
        rows = (
            f'<tr class="{row.state}">'
            + "".join(f"<td>{escape(escaped(cell))}</td>" for cell in self._cells(row))
            + f"<td>{'<br>'.join(escape(escaped(note)) for note in row.notes)}</td></tr>"
            for row in self.rows
        )
        return PAGE.format(
            language=words("language"),
            title=escape(words("summary.title", assignment=self.assignment)),
            line=colour("line"),
            said="\n".join(f"<p>{escape(line)}</p>" for line in self.said()),
            head="".join(f"<th>{escape(words(f'summary.{name}'))}</th>" for name in HEAD),
            rows="\n".join(rows),
        )

    @staticmethod
    def _aligned(line, widths):
        places = zip(HEAD, line, widths, strict=False)
        cells = (text.rjust(w) if name == "points" else text.ljust(w) for name, text, w in places)
        return "  ".join(cells).rstrip()

    def _cells(self, row):
        points = unread = ""
        if row.points is not None:
            both = {"points": number(row.points), "most": number(self.worth)}
            points = words("summary.points_of", **both)
        unread = ", ".join(row.unread)
        if len(row.unread) > 2:
            unread = words("summary.cells", count=len(row.unread))
        state = words(f"summary.{row.state}")  # a sign and a word: colour alone is not enough
        return row.student or "–", row.folder, state, points or "–", unread


def summarise(
    assignment: str,
    rows: Iterable[Row],
    standings: Mapping[str, Standing],
    worth: float,
    *,
    stopped: bool = False,
    remarks: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> Summary:
    """Rows with what the gradebook says of each student.

    ``remarks`` are those on each student's feedback page.
    """
    rows = sorted(rows, key=lambda row: (row.student, row.folder))
    standings = {name: one for name, one in standings.items() if one.state != NOTHING}
    counted = {row.student for row in rows if row.counts}
    return Summary(
        assignment=assignment,
        rows=tuple(_standing(row, standings, counted, remarks) for row in rows),
        worth=worth,
        gone=tuple(sorted(standings.keys() - {row.student for row in rows})),
        stopped=stopped,
    )


def _standing(row, standings, counted, remarks):
    standing = standings.get(row.student)
    if standing and row.counts:
        said = tuple(remarks.get(row.student, ()))
        if standing.penalty and standing.score is not None:
            both = {"points": number(standing.penalty), "before": number(standing.score)}
            said = (words("summary.late", **both), *said)
        if row.state == PERSON and is_settled(row.flagged, standing):
            before = words("summary.looked_at", reason=row.reason)
            row = replace(row, state=GRADED, reason="", remarks=(before, *row.remarks))
        return replace(
            row, points=standing.provisional, unread=standing.waiting, remarks=row.remarks + said
        )
    if standing and row.student not in counted:
        return replace(row, remarks=(*row.remarks, words("summary.earlier")))
    return row
