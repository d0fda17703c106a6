"""``python -m roofcheck``: parses, calls, prints."""

import click

from roofcheck.sentences import say
from roofcheck.study import answers
from roofcheck.study.review import Nothing, answer_due, due_now, schedule
from roofcheck.study.student import JUDGED
from roofkit.commandline.errors import Sentences

LEAVING = ("q", "quit", "exit")


def main():
    """Run the command line."""
    command()(prog_name="python -m roofcheck")


def command() -> click.Group:
    """The command line, made when it is called so that its help is in the language of then."""
    flags = [
        click.Option(["--all", "everything"], is_flag=True, help=say("command.all")),
        click.Option(["--list", "listing"], is_flag=True, help=say("command.list")),
        click.Option(["--file", "where"], is_flag=True, help=say("command.file")),
        click.Option(["--forget"], is_flag=True, help=say("command.forget")),
    ]
    review = click.Command("review", callback=_review, params=flags, help=say("command.review"))
    settings = {"help_option_names": ["-h", "--help"]}
    return Sentences(
        "roofcheck", commands=[review], context_settings=settings, help=say("command.help")
    )


def _review(everything, listing, where, forget):
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
    if listing:
        for due in schedule():
            click.echo(f"{due.when}  {due.question_id}")
        return
    try:
        _ask_again(due_now(everything))
    except click.Abort:
        # Ctrl-C, Ctrl-D, or a q.
        click.echo(f"\n{say('command.left')}")


def _ask_again(found):
    if not found:
        click.echo(Nothing(schedule()))
        return
    click.echo(f"{say('command.opening', count=len(found))}\n")
    for number, due in enumerate(found, start=1):
        click.echo(say("command.asks", number=number, count=len(found), question=due))
        while answer := _typed(due):
            grade = answer_due(due, answer)
            click.echo(f"{grade}\n")
            if grade.verdict.state in JUDGED:
                break
        else:
            click.echo(f"{say('command.skipped')}\n")
    if later := len(due_now(everything=True)):
        click.echo(say("command.later", count=later))


def _typed(due):
    """What is typed for a question: a line, or the lines of a function up to an empty one."""
    if due.draft:
        click.echo(say("command.function"))
    lines = [_line("> ")]
    if lines[0].strip().casefold() in LEAVING:
        raise click.Abort
    while due.draft and lines[-1].strip():
        lines.append(_line(". "))
    return "\n".join(lines).rstrip()


def _line(sign):
    return click.prompt("", prompt_suffix=sign, default="", show_default=False)
