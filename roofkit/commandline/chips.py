"""The ``chips`` command: the table of chips, or all values of the named chips."""

import click

import roofkit as rk
from roofkit._units import format_quantity
from roofkit.commandline.options import ChipType, add_output_options
from roofkit.commandline.output import print_answer


@click.command()
@click.argument("chosen", metavar="[NAMES]...", type=ChipType(), nargs=-1)
@add_output_options
def chips(chosen, form):
    """Show the table of chips, or all values of the chips NAMES with their sources.

    A name can also be the path of your own TOML file.
    """
    if not form and not chosen:
        click.echo(rk.chips())
        return
    rows = [
        {
            "chip": chip.name,
            "figure": name,
            "value": float(figure),
            "unit": figure.unit,
            "kind": figure.kind,
            "confirmed": figure.confirmed,
            "note": figure.note,
            "source": figure.source,
        }
        for chip in chosen or rk.chips()
        for name, figure in chip.list_figures()
    ]
    lines = [
        f"{row['chip']}, {row['figure']}: {format_quantity(row['value'], row['unit'])}"
        f"{'' if row['confirmed'] else ' (?)'}\n    "
        + "; ".join(filter(None, (row["kind"], row["note"], row["source"])))
        for row in rows
    ]
    print_answer(form, rows, rows, "\n".join(lines))
