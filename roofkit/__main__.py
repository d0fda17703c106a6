"""The command line: ``python -m roofkit --help``.

Exit codes: 0 answered; 1 the question has no answer (an unknown chip, a peak that the table lacks,
a model that cannot be split); 2 the command line itself is wrong; 3 answered, but --must-fit was
given and the memory does not suffice.
"""

import csv
import io
import json
import math
import sys

import roofkit as rk
from roofkit import network
from roofkit._tables import text_table
from roofkit._units import engineering

try:
    import click
except ModuleNotFoundError:
    sys.exit('python -m roofkit needs click: pip install "roofkit[cli]"')

DOES_NOT_FIT = 3


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


def _answers(command):
    """The options that every command has."""
    as_json = click.option("--json", "form", flag_value="json", help="Print JSON, in SI units.")
    as_csv = click.option("--csv", "form", flag_value="csv", help="Print CSV, in SI units.")
    return as_json(as_csv(command))


chip_option = click.option("--chip", required=True, help="A chip's name or alias, such as h100.")
dtype_option = click.option("--dtype", default="bf16", show_default=True)
joined_option = click.option(
    "--joined", help="ring, line, switch or all-pairs, for chips that the table does not join."
)
latency_option = click.option("--latency", is_flag=True, help="Count the latency of hops.")


@main.command()
@click.argument("names", nargs=-1)
@_answers
def chips(names, form):
    """The table of chips, or the figures of those named with their sources."""
    found = type(rk.chips())(map(rk.chip, names)) if names else rk.chips()
    if not form and not names:
        click.echo(found)
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
        for chip in found
        for name, figure in _figures(chip)
    ]
    lines = [
        f"{row['chip']}, {row['figure']}: {engineering(row['value'])}{row['unit']}"
        f"{'' if row['confirmed'] else ' (?)'}\n    "
        + "; ".join(filter(None, (row["kind"], row["note"], row["source"])))
        for row in rows
    ]
    _print(form, rows, rows, "\n".join(lines))


def _figures(chip):
    yield from ((f"peak {dtype}", figure) for dtype, figure in chip.peaks.items())
    for name in ("bandwidth", "capacity", "allocatable", "on_chip", "multiprocessors"):
        if getattr(chip, name) is not None:
            yield name, getattr(chip, name)
    if chip.interconnect:
        yield f"{chip.interconnect.links} links, each", chip.interconnect.bandwidth


@main.command()
@click.argument("B", type=float)
@click.argument("D", type=float)
@click.argument("F", type=float)
@chip_option
@dtype_option
@click.option("--weight-dtype", help="What the weights are stored as; --dtype unless given.")
@_answers
def matmul(b, d, f, chip, dtype, weight_dtype, form):
    """X[B, D] times Y[D, F]: what binds it on a chip, and how long it takes."""
    roof = rk.chip(chip).roofline(dtype)
    cost = rk.matmul(b, d, f, dtype, weight_dtype=weight_dtype)
    critical = rk.critical_batch(roof, d, f, dtype, weight_dtype=weight_dtype)
    _print_figures(
        form, [*_estimated(cost, roof), ("critical batch", "critical_batch", critical, "")]
    )


@main.command()
@click.argument("B", type=float)
@click.argument("D", type=float)
@click.argument("F", type=float)
@click.argument("n", type=int)
@chip_option
@dtype_option
@click.option("--along", type=click.Choice(["B", "D", "F"]), default="D", show_default=True,
              help="The dimension that is split.")  # fmt: skip
@click.option("--collective", help="all-reduce, reduce-scatter, 'all-gather Y', none, …")
@joined_option
@click.option("--one-way", is_flag=True, help="Use each link of a ring one way only.")
@click.option("--nodes", type=int, default=1, help="So many nodes of n chips each.")
@click.option("--card", type=float, help="Bytes/s one way of each chip's card between nodes.")
@latency_option
@_answers
def shard(b, d, f, n, chip, dtype, along, collective, joined, one_way, nodes, card, latency, form):
    """X[B, D] times Y[D, F] split over n chips: compute, memory and links at once."""
    group = rk.group(chip, n, kind=joined, bidirectional=not one_way, nodes=nodes, card=card)
    split = network.sharded_matmul(
        b, d, f, group, along=along, collective=collective, dtype=dtype, latency=latency
    )
    estimate = split.estimate(group.chip.roofline(dtype))
    figures = [
        ("joined", "joined", group.shape, ""),
        ("over links", "egress", group.egress, "B/s"),
        ("FLOPs a chip", "flops", split.local.flops, ""),
        ("bytes over memory", "memory_bytes", split.local.bytes, "B"),
        ("bytes over link", "link_bytes", split.link.bytes, "B"),
        ("T_math", "math_seconds", estimate.math, "s"),
        ("T_memory", "memory_seconds", estimate.times["memory"], "s"),
        *(
            (f"T_{channel}", f"{channel}_seconds", estimate.times[channel], "s")
            for channel in ("link", "network")
            if channel in estimate.times
        ),
        *_bracket(estimate),
    ]
    if along == "D" and group.n > 1:
        width = network.critical_width(group, dtype, collective=collective or "all-reduce")
        figures.append(("critical width D", "critical_width", width, ""))
    _print_figures(form, figures)


@main.command()
@click.argument("model", required=False)
@click.option("--chip", help="A chip's name or alias, such as a6000.")
@click.option("--batch", type=float, default=1, show_default=True)
@click.option("--prompt", type=float, default=2048, show_default=True, help="Tokens of the prompt.")
@click.option("--output", type=int, default=128, show_default=True, help="Tokens to generate.")
@click.option("--weights", help="Precision of the weights, such as int4.")
@click.option("--activations", help="Precision of the activations.")
@click.option("--kv", help="Precision of the KV cache.")
@click.option("--chips", type=int, default=1, show_default=True, help="Tensor parallelism.")
@click.option("--attention", type=click.Choice(["flash", "unfused"]), default="flash",
              show_default=True)  # fmt: skip
@joined_option
@latency_option
@click.option("--convention", default="roofkit", show_default=True, help="roofkit or llm-viewer.")
@click.option("--must-fit", is_flag=True, help=f"Exit with {DOES_NOT_FIT} if memory is too small.")
@_answers
def llm(model, chip, batch, prompt, output, must_fit, form, **choices):
    """A language model layer by layer: prefill, decode, generation and memory.

    MODEL is a name or the path of a Hugging Face config.json; without one, all models are listed.
    """
    if model is None:
        if chip or must_fit:
            raise click.UsageError("name a model, or leave out the options to list them all")
        models = rk.llms()
        rows = [
            {"model": each.name, "parameters": each.parameters, "source": each.source}
            for each in models
        ]
        _print(form, rows, rows, models)
        return
    if chip is None:
        raise click.UsageError("give a chip with --chip, such as --chip a6000")
    served = rk.llm(model).on(chip, **choices)
    tables = {
        "prefill": served.prefill(batch, prompt),
        "decode": served.decode(batch, prompt),
    }
    run = served.generate(batch, prompt, output)
    memory = run.memory
    figures = [
        ("time to first token", "first_token_seconds", run.time_to_first_token, "s"),
        ("time per token", "token_seconds", run.time_per_token, "s"),
        ("whole generation", "generation_seconds", run.time, "s"),
        ("tokens a second", "tokens_per_second", run.tokens_per_second, "1/s"),
        ("K and V of a head, on chip", "on_chip_bytes", served.on_chip_needed(prompt), "B"),
        ("weights", "weight_bytes", memory.weights, "B"),
        ("KV cache", "kv_bytes", memory.kv, "B"),
        ("activations", "activation_bytes", memory.activations, "B"),
        ("memory in all", "memory_bytes", memory.total, "B"),
        ("capacity", "capacity_bytes", memory.capacity, "B"),
        ("spare" if memory.fits else "missing", "spare_bytes", memory.spare, "B"),
    ]
    rows = [{"stage": stage, **row} for stage, table in tables.items() for row in table.rows]
    document = {
        "model": served.model.name,
        "chip": served.chip.name,
        "batch": batch,
        "prompt": prompt,
        "output": output,
        **{stage: table.rows for stage, table in tables.items()},
        "totals": {key: value for _, key, value, _ in figures},
    }
    text = "\n\n".join([*map(repr, tables.values()), _figure_table(figures)])
    _print(form, document, rows, text)
    if must_fit and not memory.fits:
        sys.exit(DOES_NOT_FIT)


@main.command()
@click.argument("network", required=False)
@click.option("--chip", help="A chip's name or alias, such as '1080 ti'.")
@click.option("--batch", type=float, default=1, show_default=True)
@click.option("--dtype", default="fp32", show_default=True)
@click.option("--macs", is_flag=True, help="Count multiply-adds, and the peak in them.")
@click.option("--outputs-only", is_flag=True, help="Leave out reading the inputs of layers.")
@click.option("--unfused", is_flag=True, help="Batch norm and ReLU as layers of their own.")
@click.option("--global-pooling", is_flag=True, help="In place of the big fully connected layers.")
@_answers
def cnn(network, chip, batch, dtype, macs, outputs_only, unfused, global_pooling, form):
    """A convolutional network layer by layer; without a name, all networks are listed."""
    if network is None:
        rows = [
            {"network": each.name, "parameters": each.parameters, "macs": each.macs(),
             "source": each.source}
            for each in rk.cnns()
        ]  # fmt: skip
        _print(form, rows, rows, rk.cnns())
        return
    if chip is None:
        raise click.UsageError("give a chip with --chip, such as --chip '1080 ti'")
    net = rk.cnn(network)
    net = net.with_global_pooling() if global_pooling else net
    how = {"fma": 1 if macs else 2, "inputs_read": not outputs_only, "fused": not unfused}
    table = net.forward(chip, batch, dtype, **how)
    whole = net.cost(batch, dtype, **how)
    figures = [
        ("parameters", "parameters", net.parameters, ""),
        ("operations", "operations", whole.flops, ""),
        ("bytes", "bytes", whole.bytes, "B"),
        ("intensity", "operations_per_byte", whole.intensity, "/B"),
        ("time, layer by layer", "seconds", table.time, "s"),
        ("effective speed", "operations_per_second", whole.flops / table.time, "/s"),
    ]
    document = {"network": net.name, "layers": table.rows,
                "totals": {key: value for _, key, value, _ in figures}}  # fmt: skip
    _print(form, document, table.rows, f"{table}\n\n{_figure_table(figures)}")


@main.command()
@click.option("--quick", is_flag=True, help="Under ten seconds instead of under a minute.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or torch-cpu.")
@click.option("--threads", type=int, help="Threads of the matrix library; all cores unless given.")
@click.option("--save", type=click.Path(dir_okay=False, writable=True), help="Keep every sample.")
@_answers
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
    rows = [
        {"part": timing.part, "kernel": timing.kernel, "dtype": timing.dtype,
         "shape": timing.label, "flops": timing.flops, "bytes": timing.bytes,
         "best_seconds": timing.best, "median_seconds": timing.median, "samples": timing.count}
        for timing in measured.timings
    ]  # fmt: skip
    _print(form, document, rows, measured)


@main.command()
@click.option("--list", "listing", is_flag=True, help="Only say what comes back when.")
@click.option("--file", "where", is_flag=True, help="Only say where answers are kept.")
@click.option("--forget", is_flag=True, help="Delete that file.")
def review(listing, where, forget):
    """What you missed in the course, asked again with new figures after growing gaps."""
    from roofkit.check import answers
    from roofkit.check.review import schedule

    file = answers.path()
    if file is None:
        raise click.ClickException(f"{answers.FILE} is empty: no answers are kept")
    if where:
        click.echo(file)
        return
    if forget:
        file.unlink(missing_ok=True)
        click.echo(f"{file} is gone.")
        return
    if unreadable := answers.read()[1]:
        click.echo(f"{file}: {unreadable} lines could not be read; the others count.", err=True)
    if not listing:
        _ask_again()
    for due in schedule() if listing else ():
        click.echo(f"{due.when}  {due.question_id}")


def _ask_again():
    from roofkit.check.review import answer_due, due_now, review

    found = due_now()
    if not found:
        click.echo(review())
    typed = [due for due in found if due.can_be_typed]
    for number, due in enumerate(typed, start=1):
        click.echo(f"{number} of {len(typed)}: {due!r}")
        while answer := click.prompt("", prompt_suffix="> ", default="", show_default=False):
            grade = answer_due(due, answer)
            click.echo(f"{grade}\n")
            if grade.verdict.state != "missing":
                break
        else:
            click.echo("Skipped; it stays due.\n")
    if left := len(found) - len(typed):
        click.echo(f"{left} more ask for a function: run review(...) in a notebook.")


def _estimated(cost, roof):
    estimate = roof.estimate(cost)
    return [
        ("FLOPs", "flops", cost.flops, ""),
        ("bytes", "bytes", cost.bytes, "B"),
        ("intensity", "flops_per_byte", cost.intensity, "FLOP/B"),
        ("ridge", "ridge_flops_per_byte", roof.ridge, "FLOP/B"),
        ("T_math", "math_seconds", estimate.math, "s"),
        ("T_comms", "comms_seconds", estimate.comms, "s"),
        *_bracket(estimate),
    ]


def _bracket(estimate):
    return [
        ("at best", "lower_seconds", estimate.lower, "s"),
        ("at worst", "upper_seconds", estimate.upper, "s"),
        ("bound", "bound", estimate.bound, ""),
    ]


def _print_figures(form, figures):
    document = {key: value for _, key, value, _ in figures}
    _print(form, document, [document], _figure_table(figures))


def _figure_table(figures):
    return text_table(
        ("", ""), ("", ""), [(label, _said(value, unit)) for label, _, value, unit in figures]
    ).lstrip("\n")


def _said(value, unit):
    if isinstance(value, str):
        return value
    value = abs(value)  # what is missing is called so
    if unit in ("", "FLOP/B") and 1e-2 <= abs(value) < 1e5:
        return f"{value:.5g} {unit}".strip()
    return f"{engineering(value)}{unit}".strip()


def _print(form, document, rows, text):
    if form == "json":
        click.echo(json.dumps(_plain(document), indent=2))
    elif form == "csv":
        written = io.StringIO()
        writer = csv.DictWriter(written, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        click.echo(written.getvalue(), nl=False)
    else:
        click.echo(text)


def _plain(value):
    """The value in what JSON knows; it has no infinity and no NaN, so these become null."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


@main.command(add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def grade(arguments):
    """Grade a course's homework: grade --help says how."""
    from roofkit.grading.commands import grade as commands

    commands.main(arguments, prog_name="python -m roofkit grade", standalone_mode=False)


if __name__ == "__main__":
    main(prog_name="python -m roofkit")
