"""Tables of the ``llm`` command: several batches and prompts, or the cheapest deployment."""

import itertools

import click

import roofkit as rk
from roofkit._tables import format_text_table
from roofkit._units import format_quantity
from roofkit.commandline.output import format_figures, print_answer


class NumberList(click.ParamType):
    """One or more numbers separated by commas, as a list."""

    name = "numbers"

    def convert(self, value, param, ctx):
        try:
            return [float(text) for text in str(value).split(",")]
        except ValueError:
            self.fail(f"{value!r} must be a number or a list such as 1,8,64", param, ctx)


def print_sweep(form, served, batches, prompts, output, room):
    """Print times, speed and memory for every batch and prompt, and return whether all fit."""
    rows = []
    for prompt, batch in itertools.product(prompts, batches):
        run = served.generate(batch, prompt, output)
        memory = served.memory(batch, prompt, output, **room)
        rows.append({
            "prompt": prompt, "batch": batch, "output": output,
            "first_token_seconds": run.time_to_first_token, "token_seconds": run.time_per_token,
            "tokens_per_second": run.tokens_per_second, "memory_bytes": memory.total,
            "fits": memory.fits, **predict_step(run),
        })  # fmt: skip
    words = {True: "yes", False: "no", None: "unknown"}
    heads = ("prompt", "batch", "first token", "per token", "tokens/s", "memory", "fits")
    more = ("predicted", "from", "to") if served.calibration else ()
    text = format_text_table(
        heads + more, ("",) * len(heads + more),
        [
            (f"{row['prompt']:g}", f"{row['batch']:g}",
             format_quantity(row["first_token_seconds"], "s"),
             format_quantity(row["token_seconds"], "s"), f"{row['tokens_per_second']:.0f}",
             format_quantity(row["memory_bytes"], "B"), words[row["fits"]],
             *("–" if value is None else format_quantity(value, "s")
               for value in list(row.values())[len(heads) + 1 : -1]))
            for row in rows
        ],
    )  # fmt: skip
    kept = "" if room["reserve"] else ", nothing reserved"
    print_answer(form, rows, rows, f"{served}, output {output}{kept}\n\n{text}")
    return all(row["fits"] for row in rows)


def predict_step(run):
    """Return the predicted seconds per token and their interval, if there is a calibration."""
    if run.deployment.calibration is None:
        return {}
    row = ((1 / max(run.steps, 1)) * run.predicted_decoding).to_row("predicted_token")
    return row if run.steps else dict.fromkeys(row)


def print_cheapest(form, served, prompt, output, price, limits, room):
    """Print the batch, replicas and price that ``rk.models.cheapest`` finds."""
    prices = None if price is None else {served.chip.name: price}
    point = rk.models.cheapest(served, prompt, output, prices=prices, **limits, **room)
    figures = [
        ("replicas", "replicas", point.replicas, ""),
        ("chips", "chips", point.replicas * served.split.chips, ""),
        ("batch per replica", "batch", point.batch, ""),
        ("time to first token", "first_token_seconds", point.time_to_first_token, "s"),
        ("time per token, including waits for prefills", "token_seconds", point.time_per_token,
         "s"),
        ("tokens per second", "tokens_per_second", point.tokens_per_second, "1/s"),
    ]  # fmt: skip
    if prices:
        figures += [
            ("price per hour", "price_per_hour", point.price_per_hour, ""),
            ("price per million tokens", "price_per_million_tokens", 1e6 * point.price, ""),
        ]
    document = {key: value for _, key, value, _ in figures}
    print_answer(form, document, [document], format_figures(figures))
