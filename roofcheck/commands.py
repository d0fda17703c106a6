"""``python -m roofcheck``: parses, calls, prints."""

import click

from roofcheck import answers
from roofcheck.review import answer_due, due_now, schedule
from roofcheck.review import review as missed
from roofkit.commandline.errors import Sentences


@click.group(cls=Sentences, context_settings={"help_option_names": ["-h", "--help"]})
def main():
    """What you missed in the course, asked again."""


@main.command()
@click.option("--list", "listing", is_flag=True, help="Only say what comes back when.")
@click.option("--file", "where", is_flag=True, help="Only say where answers are kept.")
@click.option("--forget", is_flag=True, help="Delete that file.")
def review(listing, where, forget):
    """What you missed in the course, asked again with new figures after growing gaps."""
    file = answers.path()
    if file is None:
        raise click.ClickException(f"{answers.FILE} is empty: no answers are kept")
    if where:
        click.echo(file)
        return
    if forget:
        file.unlink(missing_ok=True)
        click.echo(f"{file} is gone.")
        return
    if unreadable := answers.read()[1]:
        click.echo(f"{file}: {unreadable} lines could not be read; the others count.", err=True)
    if not listing:
        _ask_again()
    for due in schedule() if listing else ():
        click.echo(f"{due.when}  {due.question_id}")


def _ask_again():
    found = due_now()
    if not found:
        click.echo(missed())
    typed = [due for due in found if due.can_be_typed]
    for number, due in enumerate(typed, start=1):
        click.echo(f"{number} of {len(typed)}: {due!r}")
        while answer := click.prompt("", prompt_suffix="> ", default="", show_default=False):
            grade = answer_due(due, answer)
            click.echo(f"{grade}\n")
            if grade.verdict.state != "missing":
                break
        else:
            click.echo("Skipped; it stays due.\n")
    if left := len(found) - len(typed):
        click.echo(f"{left} more ask for a function: run review(...) in a notebook.")
