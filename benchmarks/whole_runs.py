"""Published runs of whole models, and what roofkit says of them.

``tests/roofkit/models/published_runs.csv`` has the runs; its test says where they come from. Every
figure is turned into a time, so one rule reads all of them: a measured time below the bound is
impossible. Where no batch was published, the largest that fits is taken.
"""

import csv
import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

import roofkit as rk
from roofkit.models import Precision, Split
from roofkit.models.predictions import Prediction
from rooflab.machine import calibrate

TABLE = Path(__file__).parents[1] / "tests/roofkit/models/published_runs.csv"


class Run(NamedTuple):
    """A published run in seconds: the bound, what was measured, and a Prediction or None."""

    given: dict
    batch: int
    bound: float
    measured: float
    prediction: Prediction | None

    @property
    def label(self):
        """What was run, and where that was published."""
        return f"{self.name}, {self.given['source']}"

    @property
    def name(self):
        """The model, the chips, the format of the weights, the tokens and the batch."""
        given = self.given
        chips = f"{given['chips']} × {given['chip']}"
        lengths = "" if self.is_cnn else f", {given['prompt']} + {given['output']}"
        batch = f", batch {self.batch}" if given["batch"] else ", largest batch"
        return f"{given['model']}, {chips}, {given['weights']}{lengths}{batch}"

    @property
    def is_first_token(self):
        return self.given["quantity"] == "time to first token"

    @property
    def is_cnn(self):
        return self.given["unit"] == "images/s"


def read_runs():
    """Return the published runs as mappings of text, without the configuration of their engines."""
    return list(csv.DictReader(TABLE.open(encoding="utf-8")))


def serve(given, **options):
    """Return the Deployment of a run. fp8 runs have 16-bit streams; int4 comes with scales."""
    weights, _, group = given["weights"].partition(" group ")
    return rk.llm(given["model"]).on(
        given["chip"], split=Split(tensor=int(given["chips"])),
        precision=Precision(weights=weights, activations=given["activations"], kv=given["kv"],
                            scales=int(group) if group else None), **options,
    )  # fmt: skip


def find_batch(given):
    """Return the batch of a run, or the largest that fits if it was not published."""
    lengths = int(given["prompt"]), int(given["output"])
    return int(given["batch"] or serve(given).largest_batch(*lengths))


def measure_run(given, batch):
    """Return the seconds of what was published: a batch, a step, or the first token."""
    value, chips = float(given["measured"]), int(given["chips"])
    if given["unit"] == "ms":
        return 1e-3 * value
    if given["unit"] == "images/s" or given["quantity"] == "decode speed":
        return batch / value
    return batch * int(given["output"]) / (value * (chips if "per GPU" in given["quantity"] else 1))


def bound_run(given, batch, **options):
    """Return the least seconds of what was published, and the kernels' Prediction or None."""
    if given["unit"] == "images/s":
        table = rk.cnn(given["model"]).forward(given["chip"], batch, given["weights"])
        return float(table.time), None
    made = serve(given, **options).generate(batch, int(given["prompt"]), int(given["output"]))
    quantity, asked = given["quantity"], bool(options.get("calibration"))
    if quantity == "time to first token":
        return float(made.time_to_first_token), made.predicted_first_token if asked else None
    if quantity == "decode speed":
        return float(made.time_per_token), (
            1 / made.steps
        ) * made.predicted_decoding if asked else None
    return float(made.time), made.prediction if asked else None


@functools.cache
def every_run():
    """Return all published runs."""
    runs = []
    for given in read_runs():
        cnn = given["unit"] == "images/s"
        batch = int(given["batch"]) if cnn else find_batch(given)
        options = {} if cnn else {"calibration": calibrate(given["chip"])}
        bound, prediction = bound_run(given, batch, **options)
        runs.append(Run(given, batch, bound, measure_run(given, batch), prediction))
    return runs


def find_interval():
    """Return the chips and number of predicted runs, and the range of measured / predicted.

    A new run of their kind falls between the lowest and the highest of n others with probability
    (n-1)/(n+1). Times to the first token are not among them: all took longer than predicted.
    """
    runs = [run for run in every_run() if run.prediction is not None and not run.is_first_token]
    ratios = [run.measured / run.prediction.seconds for run in runs]
    ends = [np.floor(100 * min(ratios)) / 100, np.ceil(100 * max(ratios)) / 100]
    chips = list(dict.fromkeys(run.given["chip"] for run in runs))
    return {"chips": chips, "count": len(runs), "interval": [float(end) for end in ends]}
