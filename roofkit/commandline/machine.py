"""``measure``: what the machine at hand reaches."""

import click

import roofkit as rk
from roofkit.commandline.options import answers
from roofkit.commandline.output import print_answer


@click.command()
@click.option("--quick", is_flag=True, help="Under ten seconds instead of under a minute.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or torch-cpu.")
@click.option("--threads", type=int, help="Threads of the matrix library; all cores unless given.")
@click.option("--save", type=click.Path(dir_okay=False, writable=True), help="Keep every sample.")
@answers
def measure(quick, device, threads, save, form):
    """Measure this machine: peaks, bandwidths of memory and caches, call overhead."""
    measured = rk.measure(quick=quick, device=device, threads=threads)
    if save:
        measured.save(save)
    ceilings = measured.ceilings
    document = {
        "machine": vars(measured.machine),
        "date": measured.date,
        "versions": dict(measured.versions),
        "peak_flops_per_s": dict(ceilings.peaks),
        "bandwidth_bytes_per_s": {str(size): speed for size, speed in ceilings.bandwidth.items()},
        "memory_bytes_per_s": ceilings.memory,
        "overhead_seconds": ceilings.overhead,
    }
    print_answer(form, document, measured.rows, measured)
