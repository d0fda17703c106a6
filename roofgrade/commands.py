"""The command line of grading, ``python -m roofgrade``."""

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
    """A course command that first saves any results left unsaved by an interrupted command.

    A full disk leads to a message instead of a traceback.
    """

    def invoke(self, ctx):
        from roofgrade.gradebook.writer import save_unsaved

        course, name = ctx.obj, ctx.params.get("name")
        try:
            for message in save_unsaved(course, name) if name else ():
                _print_text(message, err=True)  # standard output may go to a file
            return super().invoke(ctx)
        except OSError as error:
            if error.errno not in DISK_FULL_ERRORS:
                raise
            raise RuntimeError(sentence("commands.full", folder=course.root)) from error


class _GradeGroup(ErrorSentences):
    """A group of commands that accepts a set name as a command: ``ps1`` means ``run ps1``."""

    command_class = _CourseCommand

    def resolve_command(self, ctx, args):
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["run", *args]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            error.message = escape_lines(error.message)  # it may quote a student
            raise


@click.group(cls=_GradeGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--course",
    default=".",
    type=click.Path(path_type=Path, file_okay=False),
    help="The course folder (default: this one).",
)
@click.pass_context
def main(ctx, course):
    """Grade submissions: python -m roofgrade ps1.

    You can interrupt grading at any time. To continue, run the same command again, which grades
    only what is new. TEACHING.md shows how to run a term.
    """
    ctx.obj = Course(course.resolve())


EXISTING_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
NEW_FILE = click.Path(path_type=Path, dir_okay=False)
SHARE, HOURS = click.FloatRange(0, 1), click.FloatRange(0, 1_000_000)
set_argument = click.argument("name", metavar="SET")
all_option = click.option("--all", "every", is_flag=True, help="Print every row.")


def set_command(function):
    """Make a function a command that gets the course and, as its first argument, SET."""
    return main.command()(set_argument(click.pass_obj(function)))


@set_command
@click.option("--workers", type=click.IntRange(1), help="Parallel workers (default: one per core).")
@click.option("--dask", default="", metavar="ADDRESS", help="Dask scheduler: this machine or TLS.")
@click.option("--trust-network", is_flag=True, help="Allow a scheduler that others may reach.")
@click.option("--again", is_flag=True, help="Grade unchanged submissions again, too.")
@click.option("--only", multiple=True, metavar="STUDENT", help="Grade one student; repeatable.")
@click.option("--unsandboxed", is_flag=True, help="No sandbox: code runs with your permissions.")
@click.option("--cell-seconds", default=CELL_SECONDS, show_default=True, type=float)
@click.option("--notebook-seconds", default=NOTEBOOK_SECONDS, show_default=True, type=float)
@all_option
def run(course, name, every, **settings):
    """Grade the submissions of SET."""
    from roofgrade.run import grading_run as grading

    _print_summary(course, grading.grade_assignment(course, name, **settings), every)


@set_command
@all_option
def table(course, name, every):
    """Show the current state of each submission."""
    from roofgrade.pages import feedback, similarity
    from roofgrade.run import grading_run as grading

    remarks = feedback.find_remarks(course, name)
    similarity.add_remarks(course, name, remarks)
    summary = grading.summarise_without_grading(course, name, remarks)
    grading.write_summary_page(course, summary)
    _print_summary(course, summary, every)


def _print_text(text, err=False):
    """Print text that may quote a student, with terminal control characters escaped."""
    click.echo(escape_lines(str(text)), err=err)


def _print_summary(course, summary, every):
    _print_text(summary.text(every))
    _print_text(sentence("commands.page", path=course.autograded / f"{summary.assignment}.html"))


@set_command
@click.argument("question")
@click.option("--yes", is_flag=True, help="Apply the changes instead of only showing them.")
def regrade(course, name, question, yes):
    """Regrade QUESTION after a change to its table, without running student code."""
    from roofgrade.regrade_export import regrade as regrade_module

    regrading = regrade_module.preview_regrade(course, name, question)
    for move in regrading.moves:
        _print_text(move)
    counts = {"moves": len(regrading.moves), "changes": len(regrading.changes)}
    _print_text(sentence("commands.regraded", judged=regrading.judged, **counts))
    if yes:
        regrade_module.apply_regrade(course, regrading)
        _print_text(sentence("commands.regrade_saved", assignment=name))
    elif regrading.changes:
        _print_text(sentence("commands.regrade_preview"))


@set_command
@click.argument("students", nargs=-1)
def feedback(course, name, students):
    """Update the feedback pages of all students, or only those of STUDENTS."""
    from roofgrade.pages import feedback as feedback_module

    pages = feedback_module.write_pages(course, name, students or None)
    if not pages:
        raise ValueError(sentence("commands.nothing_graded", assignment=name))
    written = [page for page in pages if page.status == "written"]
    for page in written:
        _print_text(page)
    _print_text(sentence("commands.pages", written=len(written), left=len(pages) - len(written)))


@set_command
@click.option("--withdraw", is_flag=True, help="Withdraw the answers.")
@click.option("--yes", is_flag=True, help="Release them even before the last due date.")
def answers(course, name, withdraw, yes):
    """Show the answers of SET on its feedback pages."""
    from roofgrade.gradebook import answer_release, due_dates

    if withdraw:
        answer_release.withdraw_answers(course, name)
        _print_text(sentence("commands.answers_withdrawn", assignment=name))
        return
    due = due_dates.find_last_due_date(course, name)
    if due and due > datetime.now(UTC) and not yes:
        raise ValueError(sentence("commands.answers_early", assignment=name, due=due))
    answer_release.release_answers(course, name)
    _print_text(sentence("commands.answers_released", assignment=name))


@set_command
def report(course, name):
    """Show the class's mistakes, and the lecture cells that address them."""
    from roofgrade.pages import report as report_module

    _print_text(report_module.make_report(course, name))


@main.command()
@click.argument("file", type=EXISTING_FILE, required=False)
@click.option("--ids", type=NEW_FILE, help="Write all ids to this file, without names.")
@click.pass_obj
def roster(course, file, ids):
    """Load a roster from a CSV file exported by nbgrader, Moodle or Canvas."""
    from roofgrade.intake import roster as rosters

    if not (file or ids):
        raise click.UsageError(sentence("commands.roster_nothing"))
    if file:
        _print_text(sentence("commands.roster", count=len(rosters.import_roster(course, file))))
    if ids:
        count = rosters.write_ids(course, ids)
        _print_text(sentence("commands.ids", count=count, path=os.path.relpath(ids)))


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.pass_obj
def exchange(course, folder):
    """Create the exchange FOLDER for a machine where students have accounts."""
    from roofgrade.intake.exchange import make_exchange

    owner = make_exchange(folder.absolute(), course.directory.course_id, shared=course.shared)
    _print_text(sentence("commands.exchange", folder=folder.absolute(), owner=owner))


@main.command()
@click.argument("file", type=EXISTING_FILE)
@set_argument
@click.pass_obj
def unpack(course, file, name):
    """Unpack an LMS's zip into submitted/ and report on every file."""
    from roofgrade.intake import lms_archives
    from roofgrade.intake import roster as rosters

    entries = lms_archives.unpack_archive(file, course, name, rosters.load_people(course))
    for entry in entries:
        outcome = "; ".join(filter(None, (escape_text(entry.to), entry.why)))
        _print_text(f"{entry.entry or '–'}: {outcome}")
    left_out = sum(not entry.to for entry in entries)
    _print_text(sentence("commands.unpacked", taken=len(entries) - left_out, left=left_out))


@set_command
@click.option("--per-day", required=True, type=SHARE, help="Share of the score per day, e.g. 0.1.")
@click.option("--grace", default=0.0, show_default=True, type=HOURS, help="Hours without penalty.")
@click.option("--most", default=1.0, show_default=True, type=SHARE, help="Largest share to deduct.")
def late(course, name, **policy):
    """Set late penalties for submissions that are completely marked."""
    from roofgrade.regrade_export import late as late_module

    for submission in late_module.apply_penalties(course, name, late_module.LatePolicy(**policy)):
        fields = {"student": submission.student, "hours": submission.seconds / late_module.HOUR}
        if submission.penalty is None:
            _print_text(sentence("commands.late_unread", **fields))
        else:
            cost = format_points(submission.penalty)
            key = "commands.late_free" if cost == "0" else "commands.late"
            _print_text(sentence(key, points=cost, **fields))


@set_command
@click.argument("student")
@click.option("--days", required=True, type=click.FloatRange(0), help="Days after the due date.")
def extend(course, name, student, days):
    """Give STUDENT more time for SET, before or after it is handed in."""
    from roofgrade.gradebook.due_dates import grant_extension

    grant_extension(course, name, student, days)
    _print_text(sentence("commands.extended", student=student, assignment=name, days=days))


@set_command
@click.option("--for", "form", type=click.Choice(["plain", "moodle", "canvas"]), default="plain")
@click.option("--into", type=EXISTING_FILE, help="Fill in this file from the LMS.")
@click.option("--provisional", is_flag=True, help="Export the points so far.")
def export(course, name, form, into, provisional):
    """Print the grades as CSV. Students without a final grade get an empty cell."""
    from roofgrade.regrade_export import export as exports

    if into and form != "plain":
        raise click.UsageError(sentence("commands.into_or_for"))
    if into:
        text, remarks = exports.fill_in_grade_column(course, name, into, provisional)
        for remark in remarks:
            _print_text(remark, err=True)
    else:
        text = getattr(exports, f"export_{form}")(course, name, provisional)
    try:
        click.echo(text, nl=False)  # the CSV already has line ends
    except OSError as error:
        if error.errno not in DISK_FULL_ERRORS:
            raise
        sys.stdout = None  # otherwise Python flushes it again on exit and fails
        raise RuntimeError(sentence("commands.full_output")) from error
