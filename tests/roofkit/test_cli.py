"""The command line: what it prints, in which form, and how it ends."""

import csv
import io
import json
import re
import subprocess
import sys

import click
import pytest
from cases import cases
from click.testing import CliRunner

import roofkit as rk
from roofkit.__main__ import main
from roofkit.models import Links, Precision, Split

LLM = ["llm", "llama-2-7b", "--chip", "a6000", "--prompt", "2048"]
CNN = ["cnn", "vgg16", "--chip", "1080 ti"]
SHARD = ["shard", "256", "8192", "8192", "2", "--chip", "v5e"]
MATMUL = ["matmul", "256", "8192", "8192", "--chip", "v5e"]
LISTS = [["chips"], ["chips", "h100", "v5e"], ["llm"], ["cnn"]]


def ask(*arguments, code=0):
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


def as_json(*arguments):
    def refuse(constant):
        raise AssertionError(f"JSON has no {constant}")

    return json.loads(ask(*arguments, "--json"), parse_constant=refuse)


def as_csv(*arguments):
    return list(csv.DictReader(io.StringIO(ask(*arguments, "--csv"))))


def put(*settings):
    return [part for setting in settings for part in ("--set", setting)]


def test_matmul_answers_with_units_and_the_bound():
    text = ask(*MATMUL)
    assert "240.94 FLOP/B" in text
    assert "critical batch         255.54" in text
    figures = as_json(*MATMUL)
    roof = rk.chip("TPU v5e").roofline("bf16")
    estimate = roof.estimate(rk.matmul(256, 8192, 8192))
    assert (figures["lower_seconds"], figures["bound"]) == (estimate.lower, "compute")
    assert float(as_csv(*MATMUL)[0]["lower_seconds"]) == estimate.lower


def test_a_batch_that_no_size_reaches_is_null():
    assert as_json("matmul", 1, 512, 512, "--chip", "h100")["critical_batch"] is None


def test_shard_names_the_roof_that_binds():
    figures = as_json(*SHARD)
    assert figures["bound"] == "link"
    assert figures["critical_width"] == pytest.approx(8756, rel=1e-3)
    assert figures["upper_seconds"] == pytest.approx(
        sum(figures[f"{name}_seconds"] for name in ("math", "memory", "link"))
    )
    slow = as_json("shard", 1, 8192, 8192, 2, "--chip", "v5e", "--with-latency")
    assert slow["link_seconds"] == pytest.approx(2e-6)
    assert as_json(*SHARD, "--along", "B")["link_bytes"] == 0
    two = as_json("shard", 64, 8192, 8192, 8, "--chip", "h100", "--nodes", 2, "--card", 25e9)
    assert two["bound"] == "network"
    assert two["topology"] == "switch of 8"


def test_llm_prints_both_tables_and_the_totals():
    served = rk.llm("Llama-2-7B").on("A6000")
    text = ask(*LLM)
    for line in repr(served.decode(1, 2048)).splitlines()[1:]:
        assert line in text
    document = as_json(*LLM)
    assert document["totals"]["first_token_seconds"] == pytest.approx(
        served.prefill(1, 2048).time, rel=1e-14
    )
    assert [row["layer"] for row in document["decode"]] == [layer.name for layer in served.decode()]
    stages = [row["pass"] for row in as_csv(*LLM)]
    assert stages.count("prefill") == len(document["prefill"])


def test_llm_choices_reach_the_model():
    unfused = ask(*LLM, *put("count.attention=unfused", "count.convention=llm-viewer"))
    assert "227 m" in unfused
    narrow = as_json(*LLM, "--weights", "int4", "--kv", "int8", "--batch", 8, "--output", 10)
    served = rk.llm("Llama-2-7B").on("A6000", precision=Precision(weights="int4", kv="int8"))
    assert narrow["totals"]["generation_seconds"] == served.generate(8, 2048, 10).time
    split = as_json("llm", "llama-2-70b", "--chip", "h100", "--tensor", 8)
    assert any(row["link_bytes"] for row in split["decode"])


def test_llm_serves_a_checkpoint_as_it_is_stored(tmp_path):
    config = {
        "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 128256,
        "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128},
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    answer = as_json("llm", tmp_path / "config.json", "--chip", "l4", "--kv", "fp8")
    assert answer["totals"]["weight_bytes"] == rk.llm(config).on("L4").memory().weights < 6e9


def test_llm_takes_splits_formats_and_fusion():
    formats = {"weights": "fp8", "activations": "fp8", "stream": "fp32"}
    ways = {"tensor": 4, "pipeline": 2}
    options = [f"precision.{name}={value}" for name, value in formats.items()]
    options += [f"split.{name}={value}" for name, value in ways.items()]
    options = put(*options, "count.fused=no", "memory.chunk=1024")
    answer = as_json("llm", "llama-2-70b", "--chip", "h100", *options)
    served = rk.llm("Llama-2-70B").on(
        "H100", precision=Precision(**formats), split=Split(**ways), fused=False
    )
    assert answer["totals"]["generation_seconds"] == served.generate().time
    assert answer["totals"]["memory_bytes"] == served.memory(1, 2048, 128, chunk=1024).total
    assert [row["layer"] for row in answer["decode"]] == [layer.name for layer in served.decode()]


def test_llm_takes_ends_nodes_and_another_pass():
    options = ["precision.lm-head=fp8", "precision.embedding=fp8", "links.nodes=2",
               "links.card=25e9", "pass.new=5", "pass.cached=1000"]  # fmt: skip
    answer = as_json("llm", "llama-2-70b", "--chip", "h100", "--tensor", 16, *put(*options))
    joined = rk.group("H100", 8, nodes=2, card=25e9)
    served = rk.llm("Llama-2-70B").on(
        "H100", precision=Precision(lm_head="fp8", embedding="fp8"), split=Split(tensor=16),
        links=Links(tensor=joined),
    )  # fmt: skip
    assert answer["forward"] == served.forward(1, 5, 1000).rows
    assert answer["totals"]["generation_seconds"] == served.generate().time
    assert "links.nodes=2 must divide split.tensor=3" in ask(
        "llm", "llama-2-70b", "--chip", "h100", "--tensor", 3, *put("links.nodes=2"), code=2
    )


def test_llm_takes_what_joins_the_chips():
    options = put("split.tensor=2", "split.pipeline=4", "links.pipeline=5e9", "links.latency=yes")
    answer = as_json("llm", "llama-2-70b", "--chip", "h100", *options)
    links = Links(pipeline=5e9, with_latency=True)
    served = rk.llm("Llama-2-70B").on("H100", split=Split(tensor=2, pipeline=4), links=links)
    assert answer["decode"] == served.decode().rows
    answer = as_json(
        "llm", "llama-2-7b", "--chip", "l40s", "--tensor", 4, *put("links.topology=ring")
    )
    served = rk.llm("Llama-2-7B").on("L40S", split=Split(tensor=4), links=Links(tensor="ring"))
    assert answer["decode"] == served.decode().rows


def test_an_unknown_capacity_is_neither_enough_nor_too_little(tmp_path):
    mine = tmp_path / "mine.toml"
    figure = '{ value = 1e14, unit = "FLOP/s", kind = "dense", source = "me" }'
    speed = '{ value = 1e12, unit = "byte/s", source = "me" }'
    mine.write_text(
        f'[sources]\nme = "a guess"\n[[chip]]\nname = "mine"\nsku = "mine"\n'
        f"peak.bf16 = {figure}\nmemory.bandwidth = {speed}\n"
    )
    assert "not known" in ask("llm", "llama-2-7b", "--chip", mine)
    assert "not known" in ask("llm", "llama-2-7b", "--chip", mine, "--must-fit", code=1)


def test_room_may_be_left_to_others():
    few = [*LLM, "--batch", 4, "--must-fit"]
    free, kept = (as_json(*few, *more)["totals"] for more in (put("memory.reserve=0"), []))
    assert free["reserved_bytes"] == 0
    for share, said in (("0", "nothing reserved +0"), ("2e9", "reserved +2 GB")):
        text = ask(*few, *put(f"memory.reserve={share}"))
        assert re.search(rf"^{said}$", text, re.MULTILINE)
    assert kept["reserved_bytes"] == pytest.approx(0.1 * kept["capacity_bytes"])
    assert kept["spare_bytes"] == pytest.approx(free["spare_bytes"] - kept["reserved_bytes"])
    ask(*few, *put("memory.reserve=0.9"), code=3)
    assert (
        as_json(*few, *put("memory.chunk=64"))["totals"]["activation_bytes"]
        < free["activation_bytes"]
    )


SERVED = ["llm", "llama-3-8b", "--chip", "h100"]


def test_several_batches_and_prompts_are_a_table_of_times():
    options = ["--batch", "1,8,4096", "--prompt", "512,2048", "--output", 64]
    rows, answer = as_csv(*SERVED, *options), as_json(*SERVED, *options)
    sizes = [(prompt, batch) for prompt in (512, 2048) for batch in (1, 8, 4096)]
    assert [(row["prompt"], row["batch"]) for row in answer] == sizes
    served = rk.llm("Llama-3-8B").on("H100")
    for row, read, (prompt, batch) in zip(answer, rows, sizes, strict=True):
        run = served.generate(batch, prompt, 64)
        held = served.memory(batch, prompt, 64, reserve=0.1)
        assert float(read["token_seconds"]) == row["token_seconds"] == run.time_per_token
        assert row["first_token_seconds"] == run.time_to_first_token
        assert row["tokens_per_second"] == run.tokens_per_second
        assert (row["memory_bytes"], row["fits"]) == (held.total, held.fits)
    assert [row["fits"] for row in answer] == [True, True, False] * 2
    text = ask(*SERVED, "--batch", "1,8,4096", *put("memory.reserve=0"))
    assert text.startswith("Deployment(Llama-3-8B on H100 SXM")
    assert "nothing reserved" in text
    assert re.search(r"^2048 +4096 .* no$", text, re.MULTILINE)
    ask(*SERVED, "--batch", "1,8", "--must-fit")
    ask(*SERVED, "--batch", "1,4096", "--must-fit", code=3)


def test_a_load_is_answered_with_replicas_and_a_price():
    options = put("limit.tokens_per_second=10_000", "limit.per_token=0.02")
    answer = as_json(*SERVED, *options, "--price", 2.5)
    point = rk.models.cheapest(
        rk.llm("Llama-3-8B").on("H100"), tokens_per_second=10_000, per_token=0.02,
        prices={"H100": 2.5}, reserve=0.1,
    )  # fmt: skip
    assert (answer["replicas"], answer["batch"]) == (point.replicas, point.batch)
    assert answer["price_per_hour"] == 2.5 * answer["chips"] == point.price_per_hour
    assert answer["price_per_million_tokens"] == 1e6 * point.price
    assert "price_per_hour" not in as_json(*SERVED, *put("limit.per_token=0.02"))
    two = as_json(
        "llm", "llama-3-70b", "--chip", "h100", "--tensor", 2, *put("limit.first_token=2")
    )
    assert (two["replicas"], two["chips"]) == (1, 2)
    assert "no deployment fits and meets per_token" in ask(
        *SERVED, *put("limit.per_token=1e-6"), code=1
    )


@cases(
    ("options", "said"),
    [
        (["--batch", "1,x"], "'1,x' must be a number or a list such as 1,8,64"),
        (["--prompt", "1,2", *put("pass.new=5")], "needs a single batch and prompt"),
        (["--batch", 8, *put("limit.per_token=1")], "no --batch; the command finds the batch"),
        (["--price", 1, "--prompt", "8,9"], "give one --prompt"),
    ],
)
def test_what_does_not_go_together_is_a_wrong_command_line(options, said):
    assert said in ask(*SERVED, *options, code=2)


def test_a_cnn_keeps_what_fits_in_the_cache():
    network = ["cnn", "resnet50", "--chip", "l4", "--dtype", "int8"]
    kept, sent = (as_json(*network, *more)["totals"] for more in ([], ["--on-chip", 0]))
    resnet = rk.cnn("ResNet-50")
    assert sent["bytes"] == resnet.cost(dtype="int8").bytes
    assert kept["bytes"] == resnet.forward("L4", dtype="int8").bytes < sent["bytes"]


def test_must_fit_tells_a_script_that_it_does_not():
    big = ("llm", "llama-2-70b", "--chip", "a100-80")
    assert "missing" in ask(*big, "--must-fit", code=3)
    assert "missing" in ask(*big)
    assert "spare" in ask(*big, "--weights", "int4", "--must-fit")


def test_cnn_counts_in_the_convention_asked_for():
    # With what the chip's cache keeps; without it 3.81 ms.
    assert as_json(*CNN)["totals"]["seconds"] == pytest.approx(3.77e-3, rel=2e-3)
    macs = as_json(*CNN, "--macs")["totals"]
    assert macs["operations"] == rk.cnn("vgg16").macs()
    assert as_json(*CNN, "--global-pooling")["totals"]["parameters"] < 20e6
    assert len(as_csv(*CNN)) == len(rk.cnn("vgg16").forward("1080 ti"))


@cases("arguments", LISTS)
def test_lists_come_in_every_form(arguments):
    rows = as_csv(*arguments)
    assert len(rows) == len(as_json(*arguments)) > 2
    assert ask(*arguments)


def test_chips_show_the_source_of_every_figure():
    text = ask("chips", "orin")
    assert "204.8" not in ask("chips", "h100")
    assert "(?)" in text
    assert "https://" in text


def test_figures_are_written_with_the_units_that_people_use():
    text = ask("chips", "h100")
    assert "bandwidth: 3.35 TB/s" in text
    assert "multiprocessors: 132 multiprocessors" in text
    assert "byte/s" not in text
    assert "0.99976 FLOP/B" in ask("matmul", 1, 8192, 8192, "--chip", "v5e")
    tokens = as_json(*LLM, "--batch", 64)["totals"]["tokens_per_second"]
    assert f"{float(f'{tokens:.4g}'):,.10g}/s" in ask(*LLM, "--batch", 64)


def test_a_chip_may_be_a_file_of_ones_own(tmp_path):
    from test_hardware import TOY

    path = tmp_path / "mine.toml"
    path.write_text(TOY, encoding="utf-8")
    figures = as_json("matmul", 64, 64, 64, "--chip", f"{path}:toy", "--dtype", "FP32")
    assert figures["ridge_flops_per_byte"] == 10
    assert "peak fp32: 1 TFLOP/s" in ask("chips", f"{path}:toy")
    assert as_json("shard", 64, 64, 64, 6, "--chip", f"{path}:toy", "--dtype", "fp32")["topology"]
    assert "cannot read" in ask("matmul", 1, 1, 1, "--chip", tmp_path / "none.toml", code=1)


@cases(
    ("arguments", "message"),
    [
        (["matmul", 0, 1, 1, "--chip", "h100"], "B must be finite and above 0, got 0"),
        (["matmul", 1, 1, 1, "--chip", "h1000"], "no chip is named 'h1000'; nearest: H100"),
        (["llm", "absent.json", "--chip", "h100"], "cannot read absent.json"),
        ([*LLM, "--tensor", 3], "32 query heads cannot be split among 3 chips"),
        ([*LLM, "--output", 0], "output must be finite and at least 1, got 0"),
    ],
)
def test_a_question_without_an_answer_ends_with_1_and_a_sentence(arguments, message):
    output = ask(*arguments, code=1)
    assert output.startswith("Error: ")
    assert message in output
    assert "Traceback" not in output


@cases(
    "arguments",
    [["matmul", 1, 2], ["matmul", "x", 1, 1, "--chip", "h100"], ["llm", "llama-2-7b"],
     ["cnn", "vgg16"], [*MATMUL, "--json", "--csv"], ["nonsense"], ["llm", "--must-fit"],
     [*LLM, "--set", "count.attention"]],
)  # fmt: skip
def test_a_wrong_command_line_ends_with_2(arguments):
    assert "Usage:" in ask(*arguments, code=2)


@cases("command", sorted(main.commands))
def test_every_command_explains_itself_and_takes_both_forms(command):
    text = ask(command, "--help")
    assert "--json" in text
    assert "--csv" in text
    assert isinstance(main.commands[command], click.Command)


def test_the_module_runs_and_its_errors_go_to_stderr():
    run = [sys.executable, "-m", "roofkit", "matmul", "1", "1", "1", "--chip", "none"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: no chip is named 'none'")


def test_without_click_it_says_what_to_install():
    code = "import sys; sys.modules['click'] = None; import roofkit.__main__"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == 'python -m roofkit needs click: pip install "roofkit[cli]"'
