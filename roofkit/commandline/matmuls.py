"""The ``matmul`` and ``shard`` commands: a matmul on one chip, or split over several."""

import click

import roofkit as rk
from roofkit import network
from roofkit.commandline.options import add_output_options, chip_option, dtype_option
from roofkit.commandline.output import print_figures


@click.command()
@click.argument("B", type=float)
@click.argument("D", type=float)
@click.argument("F", type=float)
@chip_option
@dtype_option
@click.option("--weight-dtype", help="Format of the weights (default: --dtype).")
@add_output_options
def matmul(b, d, f, chip, dtype, weight_dtype, form):
    """Show what limits X[B, D] times Y[D, F] on a chip, and how long it takes."""
    roof = chip.roofline(dtype)
    cost = rk.matmul(b, d, f, dtype, weight_dtype=weight_dtype)
    critical = rk.critical_batch(roof, d, f, dtype, weight_dtype=weight_dtype)
    print_figures(
        form, [*_estimate_figures(cost, roof), ("critical batch", "critical_batch", critical, "")]
    )


@click.command()
@click.argument("B", type=float)
@click.argument("D", type=float)
@click.argument("F", type=float)
@click.argument("n", type=int)
@chip_option
@dtype_option
@click.option("--along", type=click.Choice(["B", "D", "F"]), default="D", show_default=True,
              help="The dimension to split.")  # fmt: skip
@click.option("--collective", help="all-reduce, reduce-scatter, 'all-gather Y', none, …")
@click.option("--topology", help="ring, line, switch or all-pairs, if the table has none.")
@click.option("--one-way", is_flag=True, help="Use the links of a ring in one direction only.")
@click.option("--nodes", type=int, default=1, help="Number of nodes, with n chips each.")
@click.option("--card", type=float, help="Bytes/s, one way, of each chip's network card.")
@click.option("--with-latency", is_flag=True, help="Include the latency of hops.")
@click.option("--in-network/--over-links", default=None,
              help="Sum arrays in the switch (the default if possible), or not.")  # fmt: skip
@add_output_options
def shard(b, d, f, n, chip, dtype, along, collective, topology, one_way, nodes, card,
          with_latency, in_network, form):  # fmt: skip
    """Show the time for X[B, D] times Y[D, F] split over n chips: compute, memory and links."""
    group = rk.group(chip, n, topology=topology, bidirectional=not one_way, nodes=nodes, card=card)
    split = network.sharded_matmul(
        b, d, f, group, along=along, collective=collective, dtype=dtype,
        with_latency=with_latency, in_network=in_network,
    )  # fmt: skip
    estimate = split.estimate(group.chip.roofline(dtype))
    figures = [
        ("topology", "topology", group.shape, ""),
        ("over links", "egress", group.egress, "B/s"),
        ("FLOPs per chip", "flops", split.local.flops, ""),
        ("bytes over memory", "memory_bytes", split.local.bytes, "B"),
        ("bytes over link", "link_bytes", split.link.bytes, "B"),
        ("T_math", "math_seconds", estimate.math, "s"),
        ("T_memory", "memory_seconds", estimate.times["memory"], "s"),
        *(
            (f"T_{channel}", f"{channel}_seconds", estimate.times[channel], "s")
            for channel in ("link", "network")
            if channel in estimate.times
        ),
        *_bound_rows(estimate),
    ]
    if along == "D" and group.n > 1:
        width = network.critical_width(group, dtype, collective=collective or "all-reduce",
                                       in_network=in_network)  # fmt: skip
        figures.append(("critical width D", "critical_width", width, ""))
    print_figures(form, figures)


def _estimate_figures(cost, roof):
    estimate = roof.estimate(cost)
    return [
        ("FLOPs", "flops", cost.flops, ""),
        ("bytes", "bytes", cost.bytes, "B"),
        ("intensity", "flops_per_byte", cost.intensity, "FLOP/B"),
        ("ridge", "ridge_flops_per_byte", roof.ridge, "FLOP/B"),
        ("T_math", "math_seconds", estimate.math, "s"),
        ("T_comms", "comms_seconds", estimate.comms, "s"),
        *_bound_rows(estimate),
    ]


def _bound_rows(estimate):
    return [
        ("at best", "lower_seconds", estimate.lower, "s"),
        ("at worst", "upper_seconds", estimate.upper, "s"),
        ("bound", "bound", estimate.bound, ""),
    ]
