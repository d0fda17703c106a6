"""Account for the time of one answer of Llama 3.2 1B on H100s, line by line."""

import numpy as np

import roofkit as rk

# Seconds for the small kernels of one token in one layer, estimated from published timings: two
# norms of 4 µs, two residual additions of 1 µs and an activation function of 4 µs.
SMALL_KERNELS = 14e-6


def answer_account(bits=16.0, chips=1, wait=0.0, prompt=500, tokens=80):
    """Return the milliseconds of each line of the account, for one user.

    The times for the prompt, the weights and the KV cache are those of ideal chips that divide the
    work evenly. Everything is in bf16 except the weights of the layers, which take ``bits`` bits.

    Parameters
    ----------
    bits : bits of a weight in the layers, with its share of the scales
    chips : H100 SXMs that split every layer
    wait : seconds for one all-reduce; a token needs two in each layer and one after ``lm_head``
    prompt, tokens : tokens that the model reads, and tokens that it writes

    >>> account = answer_account()
    >>> round(account["layers"], 1), round(account["lm_head"], 1), round(sum(account.values()), 1)
    (46.5, 12.5, 78.3)
    """
    model, chip = rk.llm("Llama-3.2-1B"), rk.chip("H100 SXM")
    head = model.vocabulary * model.hidden
    layers = model.parameters - head
    cached = model.on(chip).kv_bytes_per_token * (prompt + np.arange(tokens)).sum()
    reduces = tokens * (2 * model.layers + 1) if chips > 1 else 0
    seconds = {
        "prompt": 2 * layers * prompt / chip.peak_flops("bf16") / chips,
        "layers": tokens * layers * bits / 8 / chip.bandwidth / chips,
        "lm_head": tokens * 2 * head / chip.bandwidth / chips,
        "KV cache": cached / chip.bandwidth / chips,
        "small kernels": tokens * model.layers * SMALL_KERNELS, "all-reduces": reduces * wait,
    }  # fmt: skip
    return {line: 1e3 * float(time) for line, time in seconds.items()}
