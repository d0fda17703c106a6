"""``python -m roofcheck``: parses, calls, prints."""

import click

from roofcheck import answers
from roofcheck.review import answer_due, due_now, schedule
from roofcheck.review import review as missed
from roofcheck.sentences import say
from roofkit.commandline.errors import Sentences


def main():
    """Run the command line."""
    command()(prog_name="python -m roofcheck")


def command() -> click.Group:
    """The command line, made when it is called so that its help is in the language of then."""
    flags = [
        click.Option(["--list", "listing"], is_flag=True, help=say("command.list")),
        click.Option(["--file", "where"], is_flag=True, help=say("command.file")),
        click.Option(["--forget"], is_flag=True, help=say("command.forget")),
    ]
    review = click.Command("review", callback=_review, params=flags, help=say("command.review"))
    settings = {"help_option_names": ["-h", "--help"]}
    return Sentences(
        "roofcheck", commands=[review], context_settings=settings, help=say("command.help")
    )


def _review(listing, where, forget):
    file = answers.path()
    if file is None:
        raise click.ClickException(say("command.not-kept", name=answers.FILE))
    if where:
        click.echo(file)
        return
    if forget:
        file.unlink(missing_ok=True)
        click.echo(say("command.forgotten", file=file))
        return
    if unreadable := answers.read()[1]:
        click.echo(say("command.unreadable", file=file, lines=unreadable), err=True)
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
        click.echo(say("command.asks", number=number, count=len(typed), question=due))
        while answer := click.prompt("", prompt_suffix="> ", default="", show_default=False):
            grade = answer_due(due, answer)
            click.echo(f"{grade}\n")
            if grade.verdict.state != "missing":
                break
        else:
            click.echo(f"{say('command.skipped')}\n")
    if left := len(found) - len(typed):
        click.echo(say("command.functions", count=left))
