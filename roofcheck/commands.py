"""The command-line interface of ``python -m roofcheck``."""

import click

from roofcheck.sentences import sentence
from roofcheck.study import answers
from roofcheck.study.check import COUNTING_STATES
from roofcheck.study.review import NothingDue, answer_due, due_now, schedule
from roofkit.commandline.errors import ErrorSentences

QUIT_WORDS = ("q", "quit", "exit")


def main():
    """Run the command line."""
    build_command()(prog_name="python -m roofcheck")


def build_command() -> click.Group:
    """Return the command group, built on each call so that its help is in the current language."""
    flags = [
        click.Option(["--all", "everything"], is_flag=True, help=sentence("command.all")),
        click.Option(["--list", "listing"], is_flag=True, help=sentence("command.list")),
        click.Option(["--file", "where"], is_flag=True, help=sentence("command.file")),
        click.Option(["--forget"], is_flag=True, help=sentence("command.forget")),
    ]
    review = click.Command(
        "review", callback=_review, params=flags, help=sentence("command.review")
    )
    settings = {"help_option_names": ["-h", "--help"]}
    return ErrorSentences(
        "roofcheck", commands=[review], context_settings=settings, help=sentence("command.help")
    )


def _review(everything, listing, where, forget):
    file = answers.file_path()
    if file is None:
        raise click.ClickException(sentence("command.not-kept", name=answers.FILE_VARIABLE))
    if where:
        click.echo(file)
        return
    if forget:
        file.unlink(missing_ok=True)
        click.echo(sentence("command.forgotten", file=file))
        return
    if unreadable := answers.read_answers()[1]:
        click.echo(sentence("command.unreadable", file=file, lines=unreadable), err=True)
    if listing:
        for due in schedule():
            click.echo(f"{due.when}  {due.question_id}")
        return
    try:
        _ask_again(due_now(everything))
    except click.Abort:
        # Ctrl-C, Ctrl-D, or "q".
        click.echo(f"\n{sentence('command.left')}")


def _ask_again(questions):
    if not questions:
        click.echo(NothingDue(schedule()))
        return
    click.echo(f"{sentence('command.opening', count=len(questions))}\n")
    for number, due in enumerate(questions, start=1):
        click.echo(sentence("command.asks", number=number, count=len(questions), question=due))
        while answer := _prompt_answer():
            grade = answer_due(due, answer)
            click.echo(f"{grade}\n")
            if grade.verdict.state in COUNTING_STATES:
                break
        else:
            click.echo(f"{sentence('command.skipped')}\n")
    if later := len(due_now(everything=True)):
        click.echo(sentence("command.later", count=later))


def _prompt_answer():
    answer = click.prompt("", prompt_suffix="> ", default="", show_default=False).strip()
    if answer.casefold() in QUIT_WORDS:
        raise click.Abort
    return answer
