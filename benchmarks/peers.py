"""What other calculators say of the published runs of whole models.

``python -m benchmarks.peers`` writes ``benchmarks/peers.csv``. It needs genz-llm 0.0.16 and mlsysim
0.3.0, which this project does not depend on. Each is used with its own chips and defaults, and only
for what it models: GenZ has one number format for everything, mlsysim one device.
"""

import contextlib
import csv
import io
import warnings
from importlib.metadata import version
from pathlib import Path

from benchmarks.whole_runs import every_run

TABLE = Path(__file__).with_name("peers.csv")
STEPS_SAMPLED = 4  # the time of a decode step is linear in the context
# GenZ's table has no H200.
GENZ_H200 = {"Flops": 989, "Memory_size": 141, "Memory_BW": 4800, "ICN": 450, "real_values": True}
GENZ_CHIPS = {"H100 SXM": "H100_GPU", "A100 80GB SXM": "A100_80GB_GPU", "H200": GENZ_H200}
GENZ_MODELS = {
    "Llama-2-7B": "meta-llama/Llama-2-7B", "Llama-2-70B": "meta-llama/Llama-2-70B",
    "Llama-3.1-8B": "meta-llama/Llama-3.1-8B", "Llama-3.1-70B": "meta-llama/Llama-3.1-70B",
}  # fmt: skip


# Tokens/s a GPU, measured and simulated, in InferSim's README, commit f2293da:
# https://github.com/alibaba/InferSim. DeepSeek-V3 on H800, Qwen3-30B-A3B and Qwen3-8B (fp8) on H20,
# prefill and decode of each. It ships timings of these two cards alone, so no other run was asked.
INFERSIM = [(7839, 9034), (2324, 2675), (16594, 17350), (2749, 2632), (15061, 16328), (2682, 2581)]


def ask_genz(run):
    """Return the seconds that GenZ gives for what was published, or None if it has no such chip."""
    from GenZ import decode_moddeling, prefill_moddeling
    from Systems.system_configs import system_configs

    system = GENZ_CHIPS.get(run.given["chip"])
    if system is None or run.is_cnn:
        return None
    chips, prompt = int(run.given["chips"]), int(run.given["prompt"])
    # GenZ refuses what does not fit by its own count of memory.
    chip = dict(system_configs[system] if isinstance(system, str) else system) | {
        "Memory_size": 1e6
    }
    asked = {
        "model": GENZ_MODELS[run.given["model"]], "batch_size": run.batch, "system_name": chip,
        "bits": run.given["weights"].split()[0].replace("fp16", "bf16"), "tensor_parallel": chips,
        "parallelism_heirarchy": f"TP{{{chips}}}_EP{{1}}_PP{{1}}",
    }  # fmt: skip
    steps = int(run.given["output"]) - 1
    places = [(place + 0.5) / STEPS_SAMPLED for place in range(STEPS_SAMPLED if steps else 0)]
    contexts = [round(prompt + (steps - 1) * place) for place in places]
    with contextlib.redirect_stdout(io.StringIO()):
        first = prefill_moddeling(input_tokens=prompt, **asked)["Latency"] / 1e3
        each = [decode_moddeling(input_tokens=context, output_tokens=0, Bb=1, **asked)["Latency"]
                for context in contexts]  # fmt: skip
    return _choose(run, first, sum(each) / STEPS_SAMPLED / 1e3, steps)


def ask_mlsysim(run):
    """Return the seconds of mlsysim's ServingModel and of its Engine, or None."""
    from mlsysim import Engine, Hardware, Models
    from mlsysim.solvers import ServingModel

    language, cloud = Models.Language, Hardware.Cloud
    chips = {"H100 SXM": cloud.H100, "A100 80GB SXM": cloud.A100, "H200": cloud.H200}
    models = {"Llama-2-7B": language.Llama2_7B, "Llama-2-70B": language.Llama2_70B,
              "Llama-3.1-8B": language.Llama3_8B, "Llama-3.1-70B": language.Llama3_70B}  # fmt: skip
    chip, asked = chips.get(run.given["chip"]), {"batch_size": run.batch}
    if chip is None or int(run.given["chips"]) > 1:
        return None, None
    asked["precision"] = run.given["weights"].split()[0]
    if run.is_cnn:
        return None, _seconds(Engine.solve(Models.Vision.ResNet50, chip, **asked).latency)
    model, prompt = models[run.given["model"]], int(run.given["prompt"])
    steps = int(run.given["output"]) - 1

    def serve(length):
        return ServingModel().solve(model, chip, seq_len=length, **asked)

    first = _seconds(serve(prompt).ttft)
    ends = serve(prompt + 1), serve(max(prompt + steps, prompt + 1))
    served = _choose(run, first, sum(_seconds(end.itl) for end in ends) / 2, steps)
    if run.given["quantity"] == "time to first token":
        return served, None
    step = _seconds(Engine.solve(model, chip, **asked).latency)
    return served, _choose(run, first, step, steps)


def _seconds(quantity):
    return float(quantity.to("s").magnitude)


def _choose(run, first, step, steps):
    """Return the seconds of what was published."""
    quantity = run.given["quantity"]
    return {"time to first token": first, "decode speed": step}.get(quantity, first + steps * step)


def ask_all():
    """Yield a row for each run and peer."""
    genz, mlsysim = f"GenZ {version('genz-llm')}", f"mlsysim {version('mlsysim')}"
    for run in every_run():
        serving, engine = ask_mlsysim(run)
        answers = {genz: ask_genz(run), f"{mlsysim}, ServingModel": serving,
                   f"{mlsysim}, Engine": engine}  # fmt: skip
        for peer, seconds in answers.items():
            if seconds is not None:
                yield {"run": run.label, "peer": peer, "seconds": f"{seconds:.5g}"}


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both warn about their own dependencies
        rows = list(ask_all())
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, ("run", "peer", "seconds"), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
