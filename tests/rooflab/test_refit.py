"""The constants of predicted times are those that the published timings give."""

import tomllib

import pytest

from benchmarks import fit_gpus
from rooflab.machine import gpus

pytestmark = pytest.mark.weekly("the constants of predicted times are those that the timings give")


def test_the_shipped_constants_are_those_of_a_refit():
    shipped = tomllib.loads(gpus.GPUS_TABLE.read_text(encoding="utf-8"))
    refitted = tomllib.loads(fit_gpus.document())

    def numbers(tree):
        if isinstance(tree, str):
            return {tree: 1}
        if isinstance(tree, dict):
            return {
                f"{key}.{path}": value
                for key, inner in tree.items()
                for path, value in numbers(inner).items()
            }
        if isinstance(tree, list):
            return numbers(dict(enumerate(tree)))
        return {"": tree}

    expected = numbers(refitted)
    # A nanosecond of latency is none; the last digit of an interval may fall either way.
    assert numbers(shipped) == pytest.approx(expected, rel=0.01, abs=2e-9, nan_ok=True)
