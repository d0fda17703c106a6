"""The ``llm`` and ``cnn`` commands: models layer by layer."""

import sys

import click

import roofkit as rk
from roofkit.commandline.options import ChipType, add_output_options
from roofkit.commandline.output import format_figures, print_answer
from roofkit.commandline.serving import NumberList, print_cheapest, print_sweep
from roofkit.commandline.settings import EPILOG, SettingType
from roofkit.models import Links, Precision, Split

DOES_NOT_FIT = 3
ENGINES_RESERVE = 0.1  # vLLM fills nine tenths by default (gpu_memory_utilization)


@click.command(epilog=EPILOG)
@click.argument("model", required=False)
@click.option("--chip", type=ChipType(),
              help="A chip's name or alias, such as a6000, or your own TOML file.")  # fmt: skip
@click.option("--batch", type=NumberList(), default="1", show_default=True,
              help="Sequences per batch. A list such as 1,8,64 prints a table.")  # fmt: skip
@click.option("--prompt", type=NumberList(), default="2048", show_default=True,
              help="Tokens per prompt, or a list as for --batch.")  # fmt: skip
@click.option("--output", type=int, default=128, show_default=True, help="Tokens to generate.")
@click.option("--weights", help="Format of the weight matrices, such as int4.")
@click.option("--kv", help="Format of the KV cache.")
@click.option("--tensor", type=int, help="Chips per layer (default: 1).")
@click.option("--set", "settings", type=SettingType(), multiple=True,
              help="Any other setting, such as precision.activations=fp8 (see below).")  # fmt: skip
@click.option("--must-fit", is_flag=True, help=f"Exit with code {DOES_NOT_FIT} if it doesn't fit.")
@click.option("--price", type=float, help="Price per chip-hour. Prints the price of tokens.")
@add_output_options
def llm(model, chip, batch, prompt, output, weights, kv, tensor, settings, must_fit, price, form):
    """Show a language model layer by layer: prefill, decode, generation and memory.

    MODEL is a name, or the path of a Hugging Face config.json or its folder. Without MODEL, list
    all models.
    """
    if model is None:
        if chip or must_fit:
            raise click.UsageError("name a model, or omit the options to list all models")
        models = rk.models.llms()
        rows = [{"model": each.name, "parameters": each.parameters, "source": each.source}
                for each in models]  # fmt: skip
        print_answer(form, rows, rows, models)
        return
    if chip is None:
        raise click.UsageError("give a chip with --chip, such as --chip a6000")
    calibrate = click.get_current_context().obj  # rooflab's commands set it
    chosen = {"precision": {}, "split": {}}
    plain = [
        ("precision", "weights", weights),
        ("precision", "kv", kv),
        ("split", "tensor", tensor),
    ]
    for group, name, value in (*(each for each in plain if each[2] is not None), *settings):
        if name in chosen.setdefault(group, {}):
            raise click.UsageError(f"{group}.{name} is given twice")
        chosen[group][name] = value
    room = {"chunk": 8192.0, "reserve": ENGINES_RESERVE} | chosen.get("memory", {})
    extra, limits = chosen.get("pass", {}), chosen.get("limit", {})
    served = rk.llm(model).on(chip, calibration=calibrate and calibrate(chip),
                              **_read_groups(chip, chosen))  # fmt: skip
    asked, several = bool(price is not None or limits), len(batch) * len(prompt) > 1
    if (several or asked) and extra:
        raise click.UsageError("pass.new needs a single batch and prompt, and no limit")
    if asked and calibrate:
        raise click.UsageError("limits and prices use bounds: ask python -m roofkit llm instead")
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
    if extra:
        if "new" not in extra:
            raise click.UsageError("pass.cached needs pass.new, the number of new tokens")
        tables["forward"] = served.forward(batch, extra["new"], extra.get("cached", 0))
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
    if calibrate:
        for name, table in tables.items():
            figures += _prediction_figures(name, table.prediction)
        figures += _prediction_figures("generation", run.prediction)
    rows = [{"pass": name, **row} for name, table in tables.items() for row in table.rows]
    document = {
        "model": served.model.name, "chip": served.chip.name, "batch": batch, "prompt": prompt,
        "output": output, **{name: table.rows for name, table in tables.items()},
        "totals": {key: value for _, key, value, _ in figures},
    }  # fmt: skip
    text = "\n\n".join([*map(repr, tables.values()), format_figures(figures)])
    print_answer(form, document, rows, text)
    if must_fit and memory.fits is None:
        raise click.ClickException(f"the memory capacity of {served.chip.name} is unknown")
    if must_fit and not memory.fits:
        sys.exit(DOES_NOT_FIT)


def _read_groups(chip, chosen):
    """Return the arguments of ``LLM.on`` for settings by group."""
    links, count = dict(chosen.get("links", {})), dict(chosen.get("count", {}))
    split = Split(**chosen["split"])
    joined, nodes = links.pop("topology", None), links.pop("nodes", 1)
    card = links.pop("card", None)
    if nodes > 1 or card is not None:
        chips, rest = divmod(split.tensor, nodes)
        if rest:
            raise click.UsageError(f"links.nodes={nodes} must divide split.tensor={split.tensor}")
        joined = rk.group(chip, chips, topology=joined, nodes=nodes, card=card)
    links["with_latency"] = links.pop("latency", False)
    return {"precision": Precision(**chosen["precision"]), "split": split,
            "links": Links(tensor=joined, **links), **count}  # fmt: skip


def _memory_figures(memory):
    if memory.fits is None:
        return [("capacity", "capacity_bytes", "not known", "")]
    kept = "reserved" if memory.reserve else "nothing reserved"
    spare = "spare" if memory.fits else "missing"
    return [("capacity", "capacity_bytes", memory.capacity, "B"),
            (kept, "reserved_bytes", memory.reserve, "B" if memory.reserve else ""),
            (spare, "spare_bytes", memory.spare, "B")]  # fmt: skip


def _prediction_figures(name, prediction):
    labels = (f"{name}, predicted", "from", "to", "share of measurements in it")
    row = prediction.to_row(f"{name}_predicted")
    return [(label, key, value, "" if key.endswith("coverage") else "s")
            for label, (key, value) in zip(labels, row.items(), strict=True)]  # fmt: skip


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
