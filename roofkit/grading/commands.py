"""``python -m roofkit grade``: parses, calls, prints."""

from pathlib import Path

import click

from roofkit.grading.course import Course
from roofkit.grading.task import CELL_SECONDS, NOTEBOOK_SECONDS


class _Grade(click.Group):
    """Takes the name of a set in a command's place: ``grade ps1`` is ``grade run ps1``."""

    def resolve_command(self, ctx, args):
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["run", *args]
        return super().resolve_command(ctx, args)


@click.group(cls=_Grade, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--course",
    default=".",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of the course, by default this one.",
)
@click.pass_context
def grade(ctx, course):
    """Grade what students handed in: python -m roofkit grade ps1.

    Stop it whenever you like and run it again: only what is new is run. TEACHING.md goes through a
    term.
    """
    ctx.obj = Course(course.resolve())


set_argument = click.argument("name", metavar="SET")


@grade.command()
@set_argument
@click.option("--workers", type=click.IntRange(1), help="How many at once; by default one a core.")
@click.option("--cluster", metavar="ADDRESS", help="Workers of a Dask scheduler, tcp://host:8786.")
@click.option("--again", is_flag=True, help="Run also what was graded and has not changed.")
@click.option("--only", multiple=True, metavar="STUDENT", help="Only these; may be repeated.")
@click.option("--unsandboxed", is_flag=True, help="Without walls: students' code has your rights.")
@click.option("--cell-seconds", default=CELL_SECONDS, show_default=True, type=float)
@click.option("--notebook-seconds", default=NOTEBOOK_SECONDS, show_default=True, type=float)
@click.option("--all", "every", is_flag=True, help="Print a row for each, not only what waits.")
@click.pass_obj
def run(course, name, every, **settings):
    """Take in, run, judge and save what came in for SET."""
    from roofkit.grading import run as grading

    click.echo(grading.grade(course, name, **settings).text(every))


@grade.command()
@set_argument
@click.option("--all", "every", is_flag=True, help="Print a row for each, not only what waits.")
@click.pass_obj
def table(course, name, every):
    """What became of each submission, as things stand now."""
    from roofkit.grading import summary

    click.echo(summary.of(course, name).text(every))


@grade.command()
@set_argument
@click.argument("question")
@click.option("--yes", is_flag=True, help="Change the grades; otherwise say who would move.")
@click.pass_obj
def regrade(course, name, question, yes):
    """Judge QUESTION anew after its table changed, without running anything again."""
    from roofkit.grading import regrade as regrading

    found = regrading.preview(course, name, question)
    for move in found.moves:
        click.echo(move)
    click.echo(f"{found.judged} judged, {len(found.moves)} move, {len(found.changes)} change")
    if yes:
        regrading.apply(course, found)
        click.echo(f"Saved. The pages follow with: python -m roofkit grade feedback {name}")
    elif found.changes:
        click.echo("Nothing is changed yet; --yes does it.")


@grade.command()
@set_argument
@click.pass_obj
def feedback(course, name):
    """Write the pages that students get, where marks or comments have changed."""
    from roofkit.grading import feedback as pages

    for page in pages.write(course, name):
        click.echo(page)


@grade.command()
@set_argument
@click.pass_obj
def report(course, name):
    """What the class got wrong, question by question, and which lecture cells help."""
    from roofkit.grading import report as reports

    click.echo(reports.report(course, name))


if __name__ == "__main__":
    grade(prog_name="python -m roofkit grade")
