"""Plain data about models and chips, from which a web page without Python computes passes."""

import contextlib
import functools

import numpy as np

from roofkit.models.llm.bit_formats import CONVENTIONS, list_formats, pick_dtypes
from roofkit.models.llm.chip_rates import UNLIMITED
from roofkit.models.llm.count_coefficients import fit_count_coefficients
from roofkit.models.llm.llm_viewer import CONVENTION
from roofkit.models.llm.model import LLM
from roofkit.models.llm.split import Split

# The passes that are predicted for a page.
PREDICTED_SIZES, PREDICTED_BATCHES, PREDICTED_TOKENS = (1, 2, 4, 8), (1, 4, 16, 64, 256), 2048
PLAIN = LLM("plain", hidden=64, layers=1, heads=64, vocabulary=64, mlp=64)


def list_peaks(chip):
    """Return the confirmed peaks of a Chip, in FLOP/s, by dtype."""
    return {
        name: float(peak) for name, peak in chip.peaks.items() if getattr(peak, "confirmed", True)
    }


@functools.cache
def describe_formats():
    """Return what each choice of formats means for a model that is published in 16 bits."""
    return list_formats(PLAIN)


@functools.cache
def describe_model(model, sizes=(1,)):
    """Return the coefficients of an LLM's counts and formats, on each number of chips.

    ``sizes`` are numbers of chips that share every layer; those that the model does not allow are
    left out. LLM-Viewer's convention is counted on one chip. Raises ValueError if the counts on one
    chip have no coefficients.
    """
    splits = {convention: {} for convention in CONVENTIONS}
    for convention, n in [*(("roofkit", n) for n in sizes), (CONVENTION, 1)]:
        try:
            splits[convention][n] = fit_count_coefficients(model, n, convention)
        except ValueError:
            if (convention, n) == ("roofkit", 1):
                raise
    return {
        "context": model.context, "window": model.window, "windowed": model.window_layers,
        "layers": model.layers, "missed": 1 - model.experts_per_token / max(model.experts, 1),
        "hidden": model.hidden, "splits": splits,
        "formats": list_formats(model) if model.stored else None,
    }  # fmt: skip


@functools.cache
def describe_chip(chip, sizes=(1,)):
    """Return a Chip's peaks, bandwidth and memory, and its links in groups of these ``sizes``.

    Raises ValueError if the peak for 16 bits or the bandwidth is missing or not confirmed.
    """
    peaks = list_peaks(chip)
    dtypes = pick_dtypes(peaks)
    if not dtypes[16]:
        raise ValueError(f"{chip.name} has no confirmed peak for 16-bit matrices")
    if not getattr(chip.bandwidth, "confirmed", True):
        raise ValueError(f"the bandwidth of {chip.name} is not confirmed")
    links = {1: {}}
    for n in (n for n in sizes if n > 1):
        try:
            rates = PLAIN.on(chip, split=Split(tensor=n))._passes.rates
        except ValueError:  # the chip has no group of this size, or the table does not say
            continue
        links[n] = {
            "all-gather": [rates.gather_share, rates.gather],
            "all-reduce": [rates.reduce_share, rates.reduce],
        }
    return {
        "peaks": peaks | {bits: peaks[name] for bits, name in dtypes.items() if name in peaks},
        "dtypes": dtypes, "bandwidth": float(chip.bandwidth),
        "capacity": chip.usable and float(chip.usable),
        "on_chip": float(chip.on_chip or UNLIMITED), "links": links,
    }  # fmt: skip


def predict_ratios(models, chips, calibrate):
    """Return predicted over least times in 16 bits, with the ends of their intervals.

    ``models`` and ``chips`` map names to LLMs and Chips. ``calibrate(chip)`` returns a predictor,
    or raises ValueError; only its own timings count (``is_timed``). The ratios are nested by chip,
    model and number of chips: one for each of PREDICTED_BATCHES in decode steps, then the
    prefill's, all at PREDICTED_TOKENS tokens. What cannot be predicted is left out.
    """
    found = {}
    for chip in chips.values():
        with contextlib.suppress(ValueError):
            if (calibration := calibrate(chip)).is_timed:
                found[chip.name] = {
                    name: _predict_model(model, chip, calibration) for name, model in models.items()
                }
    return {"batches": PREDICTED_BATCHES, "ratios": found}


def _predict_model(model, chip, calibration):
    ratios = {}
    for n in PREDICTED_SIZES:
        with contextlib.suppress(ValueError):
            served = model.on(chip, split=Split(tensor=n), calibration=calibration)
            rows = []
            for batch in PREDICTED_BATCHES:
                table = served.decode(batch, PREDICTED_TOKENS)
                run = served.generate(batch, PREDICTED_TOKENS, 2)
                rows.append((run.judge(table.prediction, table.time), table.time))
            first = served.generate(1, PREDICTED_TOKENS, 2)
            rows.append((first.predicted_first_token, first.time_to_first_token))
            rows = [[round(float(value / least), 2) for value in (p.seconds, p.low, p.high)]
                    for p, least in rows]  # fmt: skip
            if np.isfinite(rows).all():
                ratios[n] = rows
    return ratios
