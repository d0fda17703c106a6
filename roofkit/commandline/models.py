"""The ``llm`` and ``cnn`` commands: models layer by layer."""

import sys
from dataclasses import fields

import click

import roofkit as rk
from roofkit.commandline.options import (
    ChipType,
    add_output_options,
    in_network_option,
    latency_option,
    topology_option,
)
from roofkit.commandline.output import format_figures, print_answer
from roofkit.commandline.serving import NumberList, print_cheapest, print_sweep
from roofkit.models import Links, Precision, Split

DOES_NOT_FIT = 3


@click.command()
@click.argument("model", required=False)
@click.option("--chip", type=ChipType(),
              help="A chip's name or alias, such as a6000, or your own TOML file.")  # fmt: skip
@click.option(
    "--batch",
    type=NumberList(),
    default="1",
    show_default=True,
    help="Sequences per batch. A list such as 1,8,64 prints a table of times instead.",
)
@click.option("--prompt", type=NumberList(), default="2048", show_default=True,
              help="Tokens per prompt, or a list as for --batch.")  # fmt: skip
@click.option("--output", type=int, default=128, show_default=True, help="Tokens to generate.")
@click.option("--weights", help="Format of the weight matrices, such as int4.")
@click.option("--experts", help="Format of the experts' matrices (default: --weights).")
@click.option("--scales", type=int, help="Number of narrow weights that share a 16-bit scale.")
@click.option("--activations", help="Format of matrix inputs, such as fp8 if quantised.")
@click.option("--kv", help="Format of the KV cache.")
@click.option("--embedding", help="Format of the embedding.")
@click.option("--lm-head", help="Format of lm_head.")
@click.option("--stream", help="Format of the residual stream and everything between matrices.")
@click.option("--tensor", type=int, default=1, show_default=True, help="Chips per layer.")
@click.option("--pipeline", type=int, default=1, show_default=True, help="Pipeline stages.")
@click.option("--data", type=int, default=1, show_default=True, help="Replicas of the model.")
@click.option("--expert", type=int, default=1, show_default=True, help="Expert parallelism.")
@click.option(
    "--unfused", is_flag=True, help="Count norms, activations and adds as separate kernels."
)
@click.option("--attention", type=click.Choice(["flash", "unfused"]), default="flash",
              show_default=True)  # fmt: skip
@topology_option
@click.option("--nodes", type=click.IntRange(1), default=1, show_default=True,
              help="Number of nodes to spread the --tensor chips over.")  # fmt: skip
@click.option("--card", type=float, help="Bytes/s, one way, of each chip's network card.")
@click.option("--pipeline-link", type=float,
              help="Bytes/s, one way, from a chip to the next stage.")  # fmt: skip
@latency_option
@in_network_option
@click.option("--unconfirmed", is_flag=True, help="Use values that haven't been confirmed.")
@click.option("--new", type=float, help="Add a pass over this many new tokens per sequence.")
@click.option("--cached", type=float, help="Tokens already in the cache for --new (default: none).")
@click.option("--convention", default="roofkit", show_default=True, help="roofkit or llm-viewer.")
@click.option("--reserve", type=float, default=0.0, show_default=True,
              help="Memory to keep free, in bytes or as a share below 1.")  # fmt: skip
@click.option("--chunk", type=float, default=8192, show_default=True,
              help="Prefill at most this many tokens at a time, to save memory.")  # fmt: skip
@click.option("--must-fit", is_flag=True, help=f"Exit with code {DOES_NOT_FIT} if it doesn't fit.")
@click.option(
    "--tokens-per-second",
    type=float,
    help="Total load. Prints the number of replicas needed, and their batch, instead.",
)
@click.option("--per-token", type=float, help="Maximum time per token, in seconds.")
@click.option("--first-token", type=float, help="Maximum time to the first token, in seconds.")
@click.option("--price", type=float, help="Price per chip-hour. Prints the price of tokens.")
@add_output_options
def llm(model, chip, batch, prompt, output, chunk, must_fit, form, new, cached, reserve,
        tokens_per_second, per_token, first_token, price, **given):  # fmt: skip
    """Show a language model layer by layer: prefill, decode, generation and memory.

    MODEL is a name, or the path of a Hugging Face config.json or its folder. Without MODEL, list
    all models.
    """
    if model is None:
        if chip or must_fit:
            raise click.UsageError("name a model, or omit the options to list all models")
        models = rk.models.llms()
        rows = [
            {"model": each.name, "parameters": each.parameters, "source": each.source}
            for each in models
        ]
        print_answer(form, rows, rows, models)
        return
    if chip is None:
        raise click.UsageError("give a chip with --chip, such as --chip a6000")
    calibrate = click.get_current_context().obj  # rooflab's commands set it
    served = rk.llm(model).on(chip, calibration=calibrate and calibrate(chip),
                              **_group_options(chip, **given))  # fmt: skip
    room = {"chunk": chunk, "reserve": reserve}
    limits = {"tokens_per_second": tokens_per_second, "per_token": per_token,
              "first_token": first_token}  # fmt: skip
    asked = price is not None or any(each is not None for each in limits.values())
    several = len(batch) * len(prompt) > 1
    if (asked or several) and (calibrate or new is not None or cached is not None):
        raise click.UsageError("predictions, --new and --cached need a single batch and prompt")
    if asked:
        if len(prompt) > 1 or batch != [1]:
            raise click.UsageError("give one --prompt and no --batch; the command finds the batch")
        print_cheapest(form, served, prompt[0], output, price, limits, room)
        return
    if several:
        fit = print_sweep(form, served, batch, prompt, output, room)
        sys.exit(DOES_NOT_FIT if must_fit and not fit else 0)
    (batch,), (prompt,) = batch, prompt
    tables = {"prefill": served.prefill(batch, prompt), "decode": served.decode(batch, prompt)}
    if new is not None:
        tables["forward"] = served.forward(batch, new, cached or 0)
    elif cached is not None:
        raise click.UsageError("--cached needs --new, the number of new tokens")
    run = served.generate(batch, prompt, output)
    memory = served.memory(batch, prompt, output, **room)
    figures = [
        ("time to first token", "first_token_seconds", run.time_to_first_token, "s"),
        ("time per token", "token_seconds", run.time_per_token, "s"),
        ("whole generation", "generation_seconds", run.time, "s"),
        ("tokens per second", "tokens_per_second", run.tokens_per_second, "1/s"),
        ("K and V of a head, on chip", "on_chip_bytes", served.on_chip_needed(prompt), "B"),
        ("weights", "weight_bytes", memory.weights, "B"),
        ("KV cache", "kv_bytes", memory.kv, "B"),
        ("activations", "activation_bytes", memory.activations, "B"),
        ("total memory", "memory_bytes", memory.total, "B"),
        *_memory_figures(memory),
    ]
    for name, table in tables.items() if calibrate else ():
        figures += _prediction_figures(name, table.prediction)
    rows = [{"pass": name, **row} for name, table in tables.items() for row in table.rows]
    document = {
        "model": served.model.name,
        "chip": served.chip.name,
        "batch": batch,
        "prompt": prompt,
        "output": output,
        **{name: table.rows for name, table in tables.items()},
        "totals": {key: value for _, key, value, _ in figures},
    }
    text = "\n\n".join([*map(repr, tables.values()), format_figures(figures)])
    print_answer(form, document, rows, text)
    if must_fit and memory.fits is None:
        raise click.ClickException(f"the memory capacity of {served.chip.name} is unknown")
    if must_fit and not memory.fits:
        sys.exit(DOES_NOT_FIT)


def _group_options(chip, topology, nodes, card, pipeline_link, with_latency, in_network, unfused,
             attention, unconfirmed, convention, **given):  # fmt: skip
    """Return keyword arguments for LLM.on, grouped as it expects them."""
    split = Split(**{each.name: given.pop(each.name) for each in fields(Split)
                     if each.name in given})  # fmt: skip
    joined = topology
    if nodes > 1 or card is not None:
        chips, rest = divmod(split.tensor, nodes)
        if rest:
            raise click.UsageError(f"--nodes {nodes} must divide --tensor {split.tensor}")
        joined = rk.group(chip, chips, topology=topology, nodes=nodes, card=card)
    return {
        "precision": Precision(**given), "split": split,
        "links": Links(tensor=joined, pipeline=pipeline_link, with_latency=with_latency,
                       in_network=in_network),
        "fused": False if unfused else None, "attention": attention, "unconfirmed": unconfirmed,
        "convention": convention,
    }  # fmt: skip


def _memory_figures(memory):
    if memory.fits is None:
        return [("capacity", "capacity_bytes", "not known", "")]
    kept = "reserved" if memory.reserve else "nothing reserved"
    spare = "spare" if memory.fits else "missing"
    return [("capacity", "capacity_bytes", memory.capacity, "B"),
            (kept, "reserved_bytes", memory.reserve, "B" if memory.reserve else ""),
            (spare, "spare_bytes", memory.spare, "B")]  # fmt: skip


def _prediction_figures(name, prediction):
    coverage = "not known" if prediction.coverage is None else prediction.coverage
    return [
        (f"{name}, predicted", f"{name}_predicted_seconds", prediction.seconds, "s"),
        ("from", f"{name}_predicted_low_seconds", prediction.low, "s"),
        ("to", f"{name}_predicted_high_seconds", prediction.high, "s"),
        ("share of measurements in it", f"{name}_predicted_coverage", coverage, ""),
    ]


@click.command()
@click.argument("network", required=False)
@click.option("--chip", type=ChipType(),
              help="A chip's name or alias, such as '1080 ti'.")  # fmt: skip
@click.option("--batch", type=float, default=1, show_default=True)
@click.option("--dtype", default="fp32", show_default=True)
@click.option("--macs", is_flag=True, help="Count multiply-adds instead of FLOPs.")
@click.option("--outputs-only", is_flag=True, help="Don't count the inputs that layers read.")
@click.option("--unfused", is_flag=True, help="Count batch norm and ReLU as separate layers.")
@click.option("--on-chip", type=float, help="Bytes per tensor that stay in the last-level cache.")
@click.option("--unconfirmed", is_flag=True, help="Use values that haven't been confirmed.")
@click.option("--global-pooling", is_flag=True, help="Replace large fully connected layers.")
@add_output_options
def cnn(network, chip, batch, dtype, macs, outputs_only, unfused, on_chip, global_pooling,
        unconfirmed, form):  # fmt: skip
    """Show a convolutional network layer by layer. Without NETWORK, list all networks."""
    if network is None:
        rows = [
            {"network": each.name, "parameters": each.parameters, "macs": each.macs(),
             "source": each.source}
            for each in rk.models.cnns()
        ]  # fmt: skip
        print_answer(form, rows, rows, rk.models.cnns())
        return
    if chip is None:
        raise click.UsageError("give a chip with --chip, such as --chip '1080 ti'")
    net = rk.cnn(network)
    net = net.with_global_pooling() if global_pooling else net
    how = {"fma": 1 if macs else 2, "inputs_read": not outputs_only, "fused": not unfused}
    table = net.forward(chip, batch, dtype, on_chip=on_chip, unconfirmed=unconfirmed, **how)
    whole = net.cost(batch, dtype, **how)
    figures = [
        ("parameters", "parameters", net.parameters, ""),
        ("operations", "operations", whole.flops, ""),
        ("bytes", "bytes", table.bytes, "B"),
        ("intensity", "operations_per_byte", whole.flops / table.bytes, "/B"),
        ("time, layer by layer", "seconds", table.time, "s"),
        ("effective speed", "operations_per_second", whole.flops / table.time, "/s"),
    ]
    document = {"network": net.name, "layers": table.rows,
                "totals": {key: value for _, key, value, _ in figures}}  # fmt: skip
    print_answer(form, document, table.rows, f"{table}\n\n{format_figures(figures)}")
