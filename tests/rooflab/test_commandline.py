"""The command line of rooflab: this machine measured, a GPU's times predicted."""

import json
import re
from dataclasses import asdict, replace

import pytest
from click.testing import CliRunner

import roofkit as rk
from roofkit.commandline.main import main as roofkit_main
from rooflab.commandline import main
from rooflab.machine import calibrate, measurements
from rooflab.machine.plans import PLANS

MEASURE = ["measure", "--quick", "--device", "cpu"]


def ask(*arguments, code=0, command=main):
    result = CliRunner().invoke(command, [*map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


def as_json(*arguments):
    return json.loads(ask(*arguments, "--json"))


def test_predict_answers_by_timings_of_the_gpu():
    answer = as_json("predict", "llama-2-7b", "--chip", "a100-80")
    served = rk.llm("Llama-2-7B").on("A100 80GB SXM", calibration=calibrate("A100 80GB SXM"))
    expected = served.prefill().prediction
    totals = answer["totals"]
    assert totals["prefill_predicted_seconds"] == expected.seconds
    assert totals["prefill_predicted_low_seconds"] == expected.low < expected.high
    text = ask("predict", "llama-2-7b", "--chip", "a100-80")
    assert "decode, predicted" in text
    # Attention was not timed.
    assert totals["decode_predicted_coverage"] is totals["decode_predicted_high_seconds"] is None
    assert re.search("share of measurements in it +not tested", text)


def test_predictions_reach_sweeps_csv_and_older_software():
    asked = ["predict", "llama-2-7b", "--chip", "a100-80"]
    first, _ = as_json(*asked, "--batch", "1,2", "--output", 9)
    served = rk.llm("Llama-2-7B").on("A100 80GB SXM", calibration=calibrate("A100 80GB SXM"))
    expected = served.generate(1, 2048, 9).predicted_decoding.seconds / 8
    assert first["predicted_token_seconds"] == pytest.approx(expected)
    assert "predicted_seconds" in ask(*asked, "--csv").splitlines()[0]
    newer, older = (as_json(*asked, *more) for more in ([], ["--software", "PyTorch 2024"]))
    assert newer["prefill"][1]["predicted_seconds"] < older["prefill"][1]["predicted_seconds"]
    limit = ["--set", "limit.per_token=1"]
    assert "ask python -m roofkit llm instead" in ask(*asked, *limit, code=2)
    assert "split.tensor is given twice" in ask(
        *asked, "--tensor", 2, *["--set", "split.tensor=4"], code=2
    )
    assert as_json(*asked, "--batch", "1,2", "--output", 1)[0]["predicted_token_seconds"] is None


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """What `measure` printed of this machine, and where it saved that."""
    path = tmp_path_factory.mktemp("measured") / "mine.json"
    table = path.with_suffix(".toml")
    measure = measurements._measure

    def patiently(asked, progress):
        assert asked["quick"]
        # On a busy machine the seconds of a quick measurement end before its first peak.
        plan = replace(PLANS[asked["device"], True], squares=(64,), sizes=(2**14, 2**17), limit=600)
        return measure(asked | {"plan": asdict(plan)}, progress)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measurements, "_measure", patiently)
        return as_json(*MEASURE, "--save", path, "--save-chip", table), path


def test_measure_prints_this_machine_and_keeps_what_it_measured(measured):
    document, path = measured
    assert document["peak_flops_per_s"]["fp32"] > 0
    assert document["machine"]["device"] == "cpu"
    assert measurements.Measurements.load(path).ceilings.peaks == document["peak_flops_per_s"]


def test_a_measured_chip_may_be_asked_about_by_its_file(measured):
    _, path = measured
    table = path.with_suffix(".toml")
    mine = measurements.Measurements.load(path).chip()
    assert rk.chip(table) == mine
    asked = ["matmul", 64, 64, 64, "--chip", table, "--dtype", "fp32", "--json"]
    figures = json.loads(ask(*asked, command=roofkit_main))
    assert figures["ridge_flops_per_byte"] == mine.roofline("fp32").ridge


def test_an_unknown_device_ends_with_1_and_a_sentence():
    text = ask("measure", "--device", "abacus", code=1)
    assert text.startswith("Error: ")
    assert "device='abacus' is not known" in text
