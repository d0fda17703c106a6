"""The command line: measure this machine, or predict times on a GPU."""

import functools

import click

from roofkit.commandline.errors import ErrorSentences
from roofkit.commandline.models import llm
from roofkit.commandline.options import add_output_options
from roofkit.commandline.output import print_answer
from rooflab import machine


@click.group(cls=ErrorSentences, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rooflab")
def main():
    """Measure this machine, or predict times on GPUs from published timings."""


@main.command()
@click.option("--quick", is_flag=True, help="Finish in under ten seconds, not under a minute.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or torch-cpu.")
@click.option("--threads", type=int, help="Threads of the matrix library; by default, all cores.")
@click.option("--save", type=click.Path(dir_okay=False, writable=True), help="Save every sample.")
@click.option("--save-chip", type=click.Path(dir_okay=False, writable=True),
              help="Write a TOML file that other commands accept as --chip.")  # fmt: skip
@add_output_options
def measure(quick, device, threads, save, save_chip, form):
    """Measure this machine: peaks, bandwidths of memory and caches, and call overhead."""
    measurements = machine.measure(quick=quick, device=device, threads=threads)
    measurements.chip()  # refuses what has no roof before anything is saved
    if save:
        measurements.save(save)
    if save_chip:
        measurements.save_chip(save_chip)
    ceilings = measurements.ceilings
    document = {
        "machine": vars(measurements.machine), "date": measurements.date,
        "versions": dict(measurements.versions), "peak_flops_per_s": dict(ceilings.peaks),
        "bandwidth_bytes_per_s": {str(size): speed for size, speed in ceilings.bandwidth.items()},
        "memory_bytes_per_s": ceilings.memory, "overhead_seconds": ceilings.overhead,
        "disturbed": measurements.was_disturbed, "skipped": list(measurements.skipped),
    }  # fmt: skip
    print_answer(form, document, measurements.rows, measurements)


@main.command(
    params=[
        *(option for option in llm.params if option.name != "price"),
        click.Option(["--software"], help="vLLM 2026 or PyTorch 2024."),
    ],
    epilog=llm.epilog,
)
@click.pass_context
def predict(context, software, **given):
    """Run roofkit's llm command, with a predicted time and interval next to each bound."""
    context.obj = functools.partial(machine.calibrate, software=software)
    return context.invoke(llm, price=None, **given)
