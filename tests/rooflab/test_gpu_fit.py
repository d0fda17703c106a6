"""The constants of gpus.toml and the page of their accuracy, made again: a long computation."""

import re

import numpy as np
import pytest

from benchmarks import accuracy, fit_gpus
from rooflab.machine import gpus

pytestmark = pytest.mark.weekly("constants and page of predicted times are what the timings give")


@pytest.mark.parametrize(
    ("path", "write", "nearly"),
    [
        # A nanosecond of latency is none; the last digit of an interval may fall either way.
        (gpus.GPUS_TABLE, fit_gpus.document, {"rel": 0.01, "abs": 2e-9}),
        (accuracy.PAGE, accuracy.write_page, {"rel": 0.1, "abs": 0.02}),
    ],
)
def test_what_is_shipped_is_what_the_timings_give(path, write, nearly):
    number = r"\d[\d,]*\.?\d*(?:e[+-]\d+)?"
    texts = path.read_text(encoding="utf-8"), write()
    shipped, made = ([float(each.replace(",", "")) for each in re.findall(number, text)]
                     for text in texts)  # fmt: skip
    assert shipped == pytest.approx(made, **nearly)
    assert len({re.sub(number, "", text) for text in texts}) == 1


def test_what_was_left_out_of_the_fit_is_predicted_within_the_interval():
    for label, (rows, median, _, _, inside, _) in fit_gpus.summary():
        assert rows >= 60, label
        assert median < 0.125, label
        assert 0.88 <= inside <= 0.95, label
    # Were errors taken to have nothing in common, the interval of a layer would promise too much.
    ratio, low, high = fit_gpus.whole_layers(0.0)
    assert np.mean((low <= ratio) & (ratio <= high)) < 0.9
