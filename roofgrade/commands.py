"""``python -m roofgrade``: parses, calls, prints."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from roofgrade.common.safe_files import FULL
from roofgrade.common.sentences import escaped, lines, number, words
from roofgrade.common.task import CELL_SECONDS, NOTEBOOK_SECONDS
from roofgrade.course import Course
from roofkit.commandline.errors import Sentences


class _Command(click.Command):
    """A command on a course. What a killed one has kept of the same set is saved first.

    Where a disk is full, or the gradebook does not serve, it ends with a sentence that says so.
    """

    def invoke(self, ctx):
        from roofgrade.gradebook.database import explained
        from roofgrade.gradebook.gradebook import catch_up

        course, name = ctx.obj, ctx.params.get("name")
        try:
            with explained(course.db_url):
                for said in catch_up(course, name) if name else ():
                    _say(said, err=True)  # what a command prints may go to a file
                return super().invoke(ctx)
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise RuntimeError(words("commands.full", folder=course.root)) from error


class _Grade(Sentences):
    """Takes the name of a set in a command's place: ``ps1`` is ``run ps1``."""

    command_class = _Command

    def resolve_command(self, ctx, args):
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["run", *args]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            error.message = lines(error.message)  # it may quote what a student wrote
            raise


@click.group(cls=_Grade, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--course",
    default=".",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of the course, by default this one.",
)
@click.pass_context
def main(ctx, course):
    """Grade what students handed in: python -m roofgrade ps1.

    Stop it whenever you like and run it again: only what is new is run. TEACHING.md goes through a
    term.
    """
    ctx.obj = Course(course.resolve())
    # nbgrader calls alembic by name, as an activated environment has it.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"


FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
NEW = click.Path(path_type=Path, dir_okay=False)
set_argument = click.argument("name", metavar="SET")


@main.command()
@set_argument
@click.option("--workers", type=click.IntRange(1), help="How many at once; by default one a core.")
@click.option("--dask", default="", metavar="ADDRESS", help="By the workers of a Dask scheduler.")
@click.option("--again", is_flag=True, help="Run also what was graded and has not changed.")
@click.option("--only", multiple=True, metavar="STUDENT", help="Only these; may be repeated.")
@click.option("--unsandboxed", is_flag=True, help="Without walls: students' code has your rights.")
@click.option("--cell-seconds", default=CELL_SECONDS, show_default=True, type=float)
@click.option("--notebook-seconds", default=NOTEBOOK_SECONDS, show_default=True, type=float)
@click.option("--all", "every", is_flag=True, help="Print a row for each, not only what waits.")
@click.pass_obj
def run(course, name, every, **settings):
    """Take in, run, judge and save what came in for SET."""
    from roofgrade.run import grading_run as grading

    _show(course, grading.grade(course, name, **settings), every)


@main.command()
@set_argument
@click.option("--all", "every", is_flag=True, help="Print a row for each, not only what waits.")
@click.pass_obj
def table(course, name, every):
    """What became of each submission, as things stand now."""
    from roofgrade.pages import feedback
    from roofgrade.run import grading_run as grading

    summary = grading.overview(course, name, feedback.remarks(course, name))
    grading.write_page(course, summary)
    _show(course, summary, every)


def _say(text, err=False):
    """Print text that may quote a student: nothing in it moves a terminal's cursor."""
    click.echo(lines(str(text)), err=err)


def _show(course, summary, every):
    _say(summary.text(every))
    page = course.autograded / f"{summary.assignment}.html"
    _say(words("commands.page", path=page))


@main.command()
@set_argument
@click.argument("question")
@click.option("--yes", is_flag=True, help="Change the grades; otherwise say who would move.")
@click.pass_obj
def regrade(course, name, question, yes):
    """Judge QUESTION anew after its table changed, without running anything again."""
    from roofgrade.regrade_export import regrade as regrading

    found = regrading.preview(course, name, question)
    for move in found.moves:
        _say(move)
    counts = {"moves": len(found.moves), "changes": len(found.changes)}
    _say(words("commands.regraded", judged=found.judged, **counts))
    if yes:
        regrading.apply(course, found)
        _say(words("commands.regrade_saved", assignment=name))
    elif found.changes:
        _say(words("commands.regrade_preview"))


@main.command()
@set_argument
@click.argument("students", nargs=-1)
@click.pass_obj
def feedback(course, name, students):
    """Write the pages that students get, of all or of STUDENTS, where anything has changed."""
    from roofgrade.pages import feedback as pages

    made = pages.write(course, name, students or None)
    if not made:
        raise ValueError(words("commands.nothing_graded", assignment=name))
    written = [page for page in made if page.done == "written"]
    for page in written:
        _say(page)
    _say(words("commands.pages", written=len(written), left=len(made) - len(written)))


@main.command()
@set_argument
@click.option("--withdraw", is_flag=True, help="Take the release back.")
@click.option("--yes", is_flag=True, help="Release them although some may still hand in.")
@click.pass_obj
def answers(course, name, withdraw, yes):
    """Release the answers of SET: feedback pages then show how each is derived."""
    from roofgrade.gradebook import answers as released

    if withdraw:
        released.withdraw(course, name)
        _say(words("commands.answers_withdrawn", assignment=name))
        return
    due = released.due(course, name)
    if due and due > datetime.now(UTC) and not yes:
        raise ValueError(words("commands.answers_early", assignment=name, due=due))
    released.release(course, name)
    _say(words("commands.answers_released", assignment=name))


@main.command()
@set_argument
@click.pass_obj
def report(course, name):
    """What the class got wrong, question by question, and which lecture cells help."""
    from roofgrade.pages import report as reports

    found = reports.report(course, name)
    _say(found)
    for path in found.save(course.autograded):
        _say(path)


@main.command()
@click.argument("file", type=FILE, required=False)
@click.option("--ids", type=NEW, help="Write the ids of all to this file, which names nobody.")
@click.pass_obj
def roster(course, file, ids):
    """Take the names of students from a CSV file: nbgrader's, Moodle's or Canvas's."""
    from roofgrade.intake import roster as rosters

    if not (file or ids):
        raise click.UsageError(words("commands.roster_nothing"))
    if file:
        _say(words("commands.roster", count=len(rosters.take(course, file))))
    if ids:
        count = rosters.write_ids(course, ids)
        _say(words("commands.ids", count=count, path=os.path.relpath(ids)))


@main.command()
@click.argument("file", type=FILE)
@set_argument
@click.pass_obj
def unpack(course, file, name):
    """Put what lies in the zip of an LMS into submitted/, and say what became of each file."""
    from roofgrade.intake import archives
    from roofgrade.intake import roster as rosters

    entries = archives.unpack(file, course, name, rosters.people(course))
    for entry in entries:
        told = "; ".join(filter(None, (escaped(entry.to), entry.why)))
        _say(f"{entry.entry}: {told}")
    left = sum(not entry.to for entry in entries)
    _say(words("commands.unpacked", taken=len(entries) - left, left=left))


@main.command()
@set_argument
@click.option("--per-day", required=True, type=float, help="The share of the score, such as 0.1.")
@click.option(
    "--grace", default=0.0, show_default=True, type=float, help="Hours that cost nothing."
)
@click.option("--most", default=1.0, show_default=True, type=float, help="The most it may cost.")
@click.pass_obj
def late(course, name, **policy):
    """Take points for each day late, from the score of all who have been read."""
    from roofgrade.regrade_export import late as penalties

    for one in penalties.apply(course, name, penalties.Policy(**policy)):
        named = {"student": one.student, "hours": one.seconds / penalties.HOUR}
        if one.penalty is None:
            _say(words("commands.late_unread", **named))
        else:
            cost = number(one.penalty)
            key = "commands.late_free" if cost == "0" else "commands.late"
            _say(words(key, points=cost, **named))


@main.command()
@set_argument
@click.option("--for", "form", type=click.Choice(["plain", "moodle", "canvas"]), default="plain")
@click.option("--into", type=FILE, help="A file of the LMS to fill in, instead of a new one.")
@click.option("--provisional", is_flag=True, help="Points so far, where not all is read.")
@click.pass_obj
def export(course, name, form, into, provisional):
    """Print the grades as CSV; who is not yet read, or not graded, has an empty cell."""
    from roofgrade.regrade_export import export as exports

    if into and form != "plain":
        raise click.UsageError(words("commands.into_or_for"))
    if into:
        text = exports.filled(course, name, into, provisional)
    else:
        text = getattr(exports, form)(course, name, provisional)
    try:
        click.echo(text, nl=False)  # a CSV has line ends of its own
    except OSError as error:
        if error.errno not in FULL:
            raise
        sys.stdout = None  # which would try once more when Python ends
        raise RuntimeError(words("commands.full_output")) from error
