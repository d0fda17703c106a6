"""``python -m roofgrade``: parses, calls, prints."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from roofgrade.common.marking_task import CELL_SECONDS, NOTEBOOK_SECONDS
from roofgrade.common.safe_files import DISK_FULL_ERRORS
from roofgrade.common.sentences import escape_lines, escape_text, format_points, sentence
from roofgrade.course import Course
from roofkit.commandline.errors import ErrorSentences


class _CourseCommand(click.Command):
    """A command on a course. What a killed one has kept of the same set is saved first.

    Where a disk is full, or the gradebook does not serve, it ends with a sentence that says so.
    """

    def invoke(self, ctx):
        from roofgrade.gradebook.database import explain_errors
        from roofgrade.gradebook.writer import save_unsaved

        course, name = ctx.obj, ctx.params.get("name")
        try:
            with explain_errors(course.db_url):
                for said in save_unsaved(course, name) if name else ():
                    _print_text(said, err=True)  # what a command prints may go to a file
                return super().invoke(ctx)
        except OSError as error:
            if error.errno not in DISK_FULL_ERRORS:
                raise
            raise RuntimeError(sentence("commands.full", folder=course.root)) from error


class _GradeGroup(ErrorSentences):
    """Takes the name of a set in a command's place: ``ps1`` is ``run ps1``."""

    command_class = _CourseCommand

    def resolve_command(self, ctx, args):
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["run", *args]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            error.message = escape_lines(error.message)  # it may quote what a student wrote
            raise


@click.group(cls=_GradeGroup, context_settings={"help_option_names": ["-h", "--help"]})
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


EXISTING_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
NEW_FILE = click.Path(path_type=Path, dir_okay=False)
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

    _print_summary(course, grading.grade_assignment(course, name, **settings), every)


@main.command()
@set_argument
@click.option("--all", "every", is_flag=True, help="Print a row for each, not only what waits.")
@click.pass_obj
def table(course, name, every):
    """What became of each submission, as things stand now."""
    from roofgrade.pages import feedback
    from roofgrade.run import grading_run as grading

    summary = grading.summarise_without_grading(course, name, feedback.find_remarks(course, name))
    grading.write_summary_page(course, summary)
    _print_summary(course, summary, every)


def _print_text(text, err=False):
    """Print text that may quote a student: nothing in it moves a terminal's cursor."""
    click.echo(escape_lines(str(text)), err=err)


def _print_summary(course, summary, every):
    _print_text(summary.text(every))
    page = course.autograded / f"{summary.assignment}.html"
    _print_text(sentence("commands.page", path=page))


@main.command()
@set_argument
@click.argument("question")
@click.option("--yes", is_flag=True, help="Change the grades; otherwise say who would move.")
@click.pass_obj
def regrade(course, name, question, yes):
    """Judge QUESTION anew after its table changed, without running anything again."""
    from roofgrade.regrade_export import regrade as regrading

    found = regrading.preview_regrade(course, name, question)
    for move in found.moves:
        _print_text(move)
    counts = {"moves": len(found.moves), "changes": len(found.changes)}
    _print_text(sentence("commands.regraded", judged=found.judged, **counts))
    if yes:
        regrading.apply_regrade(course, found)
        _print_text(sentence("commands.regrade_saved", assignment=name))
    elif found.changes:
        _print_text(sentence("commands.regrade_preview"))


@main.command()
@set_argument
@click.argument("students", nargs=-1)
@click.pass_obj
def feedback(course, name, students):
    """Write the pages that students get, of all or of STUDENTS, where anything has changed."""
    from roofgrade.pages import feedback as pages

    made = pages.write_pages(course, name, students or None)
    if not made:
        raise ValueError(sentence("commands.nothing_graded", assignment=name))
    written = [page for page in made if page.status == "written"]
    for page in written:
        _print_text(page)
    _print_text(sentence("commands.pages", written=len(written), left=len(made) - len(written)))


@main.command()
@set_argument
@click.option("--withdraw", is_flag=True, help="Take the release back.")
@click.option("--yes", is_flag=True, help="Release them although some may still hand in.")
@click.pass_obj
def answers(course, name, withdraw, yes):
    """Release the answers of SET: feedback pages then show how each is derived."""
    from roofgrade.gradebook import answer_release as released

    if withdraw:
        released.withdraw_answers(course, name)
        _print_text(sentence("commands.answers_withdrawn", assignment=name))
        return
    due = released.find_last_due_date(course, name)
    if due and due > datetime.now(UTC) and not yes:
        raise ValueError(sentence("commands.answers_early", assignment=name, due=due))
    released.release_answers(course, name)
    _print_text(sentence("commands.answers_released", assignment=name))


@main.command()
@set_argument
@click.pass_obj
def report(course, name):
    """What the class got wrong, question by question, and which lecture cells help."""
    from roofgrade.pages import report as reports

    found = reports.make_report(course, name)
    _print_text(found)
    for path in found.save(course.autograded):
        _print_text(path)


@main.command()
@click.argument("file", type=EXISTING_FILE, required=False)
@click.option("--ids", type=NEW_FILE, help="Write the ids of all to this file, which names nobody.")
@click.pass_obj
def roster(course, file, ids):
    """Take the names of students from a CSV file: nbgrader's, Moodle's or Canvas's."""
    from roofgrade.intake import roster as rosters

    if not (file or ids):
        raise click.UsageError(sentence("commands.roster_nothing"))
    if file:
        _print_text(sentence("commands.roster", count=len(rosters.import_roster(course, file))))
    if ids:
        count = rosters.write_ids(course, ids)
        _print_text(sentence("commands.ids", count=count, path=os.path.relpath(ids)))


@main.command()
@click.argument("file", type=EXISTING_FILE)
@set_argument
@click.pass_obj
def unpack(course, file, name):
    """Put what lies in the zip of an LMS into submitted/, and say what became of each file."""
    from roofgrade.intake import lms_archives
    from roofgrade.intake import roster as rosters

    entries = lms_archives.unpack_archive(file, course, name, rosters.load_people(course))
    for entry in entries:
        told = "; ".join(filter(None, (escape_text(entry.to), entry.why)))
        _print_text(f"{entry.entry}: {told}")
    left = sum(not entry.to for entry in entries)
    _print_text(sentence("commands.unpacked", taken=len(entries) - left, left=left))


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

    for one in penalties.apply_penalties(course, name, penalties.LatePolicy(**policy)):
        named = {"student": one.student, "hours": one.seconds / penalties.HOUR}
        if one.penalty is None:
            _print_text(sentence("commands.late_unread", **named))
        else:
            cost = format_points(one.penalty)
            key = "commands.late_free" if cost == "0" else "commands.late"
            _print_text(sentence(key, points=cost, **named))


@main.command()
@set_argument
@click.option("--for", "form", type=click.Choice(["plain", "moodle", "canvas"]), default="plain")
@click.option(
    "--into", type=EXISTING_FILE, help="A file of the LMS to fill in, instead of a new one."
)
@click.option("--provisional", is_flag=True, help="Points so far, where not all is read.")
@click.pass_obj
def export(course, name, form, into, provisional):
    """Print the grades as CSV; who is not yet read, or not graded, has an empty cell."""
    from roofgrade.regrade_export import export as exports

    if into and form != "plain":
        raise click.UsageError(sentence("commands.into_or_for"))
    if into:
        text = exports.fill_in_file(course, name, into, provisional)
    else:
        text = getattr(exports, f"export_{form}")(course, name, provisional)
    try:
        click.echo(text, nl=False)  # a CSV has line ends of its own
    except OSError as error:
        if error.errno not in DISK_FULL_ERRORS:
            raise
        sys.stdout = None  # which would try once more when Python ends
        raise RuntimeError(sentence("commands.full_output")) from error
