"""Options shared by several commands."""

import functools

import click

import roofkit as rk


class ChipType(click.ParamType):
    """A chip, given as a name or a TOML file."""

    name = "chip"

    def convert(self, value, param, ctx):
        return rk.chip(value)


chip_option = click.option(
    "--chip", type=ChipType(), required=True,
    help="A chip's name or alias, such as h100, or your own TOML file.",
)  # fmt: skip
dtype_option = click.option("--dtype", default="bf16", show_default=True)


def add_output_options(command):
    """Add --json and --csv. The command's argument ``form`` is then "json", "csv" or None."""

    @functools.wraps(command)
    def answering(*arguments, as_json, as_csv, **given):
        if as_json and as_csv:
            raise click.UsageError("give --json or --csv, not both")
        form = "json" if as_json else "csv" if as_csv else None
        return command(*arguments, form=form, **given)

    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, in SI units.")
    as_csv = click.option("--csv", "as_csv", is_flag=True, help="Print CSV, in SI units.")
    return as_json(as_csv(answering))
