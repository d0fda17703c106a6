"""The group of all commands."""

import click

from roofkit.commandline.chips import chips
from roofkit.commandline.errors import ErrorSentences
from roofkit.commandline.matmuls import matmul, shard
from roofkit.commandline.models import cnn, llm


@click.group(cls=ErrorSentences, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="roofkit")
def main():
    """Roofline cost models: what limits a computation on a chip, and how long it takes.

    Every command prints a table with units. --json and --csv print plain numbers in SI units.
    """


for command in (chips, matmul, shard, llm, cnn):
    main.add_command(command)
