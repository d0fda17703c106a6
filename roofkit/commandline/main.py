"""All commands together, and what becomes of an error."""

import click

from roofkit.commandline.chips import chips
from roofkit.commandline.course import grade, review
from roofkit.commandline.machine import measure
from roofkit.commandline.matmuls import matmul, shard
from roofkit.commandline.models import cnn, llm


class _Group(click.Group):
    """Answers bad input with its one sentence instead of a traceback."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort):  # RuntimeErrors by which click ends
            raise
        except (ValueError, RuntimeError, OSError) as error:
            raise click.ClickException(str(error)) from None
        except ModuleNotFoundError as error:
            raise click.ClickException(error.msg) from None


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
def main():
    """Roofline cost models: what bounds a computation on a chip, and how long it takes.

    Every command prints a table with units, or the plain figures in SI units with --json or --csv.
    """


for command in (chips, matmul, shard, llm, cnn, measure, review, grade):
    main.add_command(command)
