"""Problem set 5, on lectures 07 to 10: a model read from its config.json, and remedies in order."""

import functools
from itertools import pairwise

import roofkit as rk
from roofcheck.kinds import Function, Order
from roofcheck.reading.units import in_units
from roofcheck.slips.slips import Slip
from roofcheck.steps.algebra import read
from roofcheck.steps.derivation import Derivation, step
from roofcheck.steps.inputs import Input, Instead, itemsize, retold
from roofkit._units import quantity

PARAMETERS = Derivation(
    [
        step(
            "attention",
            "2 * hidden_size * head_dim * (num_attention_heads + num_key_value_heads)",
            "",
            "the weights of attention: queries and output have num_attention_heads heads, keys and "
            "values have num_key_value_heads",
        ),
        step(
            "mlp",
            "matrices * hidden_size * intermediate_size",
            "",
            "the weights of an MLP: gate, up and down",
        ),
        step(
            "layers",
            "num_hidden_layers * (attention + mlp)",
            "",
            "the weights of all layers",
        ),
        step(
            "tables",
            "ends * vocab_size * hidden_size",
            "",
            "the embedding and lm_head: a row for each entry of the vocabulary in both",
        ),
        step("parameters", "layers + tables", "", "the parameters"),
    ]
)
CACHE = Derivation(
    [
        step(
            "numbers",
            "pair * num_key_value_heads * head_dim",
            "",
            "the numbers that a layer keeps of a token: a key and a value for each of its heads",
        ),
        step("kept", "size * num_hidden_layers * numbers", "bytes", "the bytes of a token"),
    ],
    "bytes",
)
INPUTS = {
    "matrices": Input(
        3,
        "the matrices of an MLP",
        instead=(Instead("two", 2, "That gives an MLP two matrices. It has three."),),
    ),
    "ends": Input(
        2,
        "the matrices at both ends",
        instead=(
            Instead(
                "one",
                1,
                "That counts one matrix of the vocabulary. The embedding and lm_head are two here.",
            ),
            Instead("none", 0, "That leaves out the embedding and lm_head."),
        ),
    ),
    "pair": Input(
        2,
        "K and V",
        instead=(Instead("K alone", 1, "That keeps K alone, or takes 1 byte for a number."),),
    ),
    "size": retold(itemsize("bf16", "a number"), "fp32", says="That comes to 4 bytes a number."),
}
NO_GROUPS = (
    "That gives keys and values as many heads as queries. num_key_value_heads says how many there "
    "are."
)
WIDTH = (
    "That takes hidden_size for the width of all heads together. It is num_attention_heads · "
    "head_dim."
)


def _parameters(name, expression, says):
    """A slip in one step of the parameters."""
    changed, _, tree = expression.partition(" = ")
    return Slip(name, PARAMETERS.with_step(changed, read(tree)), says)


def _cache(name, expression, says):
    """A slip in one step of the cache."""
    changed, _, tree = expression.partition(" = ")
    return Slip(name, CACHE.with_step(changed, read(tree)), says)


def _case(rng, number):
    """Models with few heads of keys and with as many as of queries, of any width of a head."""
    heads = rng.choice((16, 24, 32, 40, 48, 64))
    groups = (1, 2, 4, 8)[number % 4]
    head_dim = rng.choice((64, 96, 128, 160, 256))
    hidden = 256 * rng.randint(8, 48)
    return (
        hidden,
        256 * round(hidden * rng.uniform(2, 4.5) / 256),
        rng.randint(16, 96),
        heads,
        heads // groups,
        head_dim,
        128 * rng.randint(250, 1400),
    )


# The step of question 7: Mistral NeMo on one H100 SXM, 20 users with 16,384 tokens each, bf16.
NEMO = rk.llm("Mistral-Nemo")
READ = NEMO.parameters - 131072 * 5120
TOKENS = 20 * 16384
KEPT = 2 * 40 * 8 * 128
# What each remedy is, and the bytes of a weight and of a cached number, and the chip, by which it
# fetches.
REMEDIES = {
    "A": ("4-bit weights", 0.5, 2, "H100 SXM"),
    "B": ("an fp8 cache", 2, 1, "H100 SXM"),
    "C": ("a prefix of all prompts that is read once, and kept", 2, 2, "H100 SXM"),
    "D": ("an H200", 2, 2, "H200"),
    "E": ("int8 weights that a kernel of its own widens to bf16, in memory", 5, 2, "H100 SXM"),
    "F": ("4-bit weights and an fp8 cache", 0.5, 1, "H100 SXM"),
}


def _faster(name, tokens=TOKENS):
    """The steps a second with a remedy, with so many tokens in all caches."""
    _, weight, cached, chip = REMEDIES[name]
    return float(rk.chip(chip).bandwidth) / (weight * READ + cached * KEPT * tokens)


def _faster_shown(name, tokens=TOKENS):
    moved = float(rk.chip(REMEDIES[name][3]).bandwidth) / _faster(name, tokens)
    a_step = in_units(1 / _faster(name, tokens), "s")
    speed = quantity(float(rk.chip(REMEDIES[name][3]).bandwidth), "B/s")
    return f"{REMEDIES[name][0]}: {in_units(moved, 'bytes')} / {speed} = {a_step} a step"


def _for(users, context):
    """What question 7 says of so many users with so many tokens each."""
    return {
        "asks": f"Mistral NeMo in bf16 on one H100 SXM: a step for {users} users with {context:,} "
        "tokens each. Order the remedies by what they buy, least first. "
        + " ".join(f"{letter}: {told[0]}." for letter, told in REMEDIES.items()),
        "key": functools.partial(_faster, tokens=users * context),
        "shows": functools.partial(_faster_shown, tokens=users * context),
    }


def _for_others(rng):
    """The same of others, for whom no two remedies buy about as much."""
    while True:
        users, context = rng.choice((1, 2, 4, 8, 12, 20, 32)), rng.choice((2048, 4096, 8192, 16384))
        if all(
            b > 1.02 * a for a, b in pairwise(sorted(_faster(n, users * context) for n in REMEDIES))
        ):
            return _for(users, context)


QUESTIONS = {
    "ps5.config": Function(
        asks="Write sizes(hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, "
        "num_key_value_heads, head_dim, vocab_size): the parameters of a model with three matrices "
        "in each MLP and an lm_head of its own, without norms, and the bytes that a token adds to "
        "a bf16 KV cache.",
        beside="""
- The queries have num_attention_heads heads, keys and values num_key_value_heads each. A head has
  head_dim numbers, which need not be hidden_size over the number of heads.
- Attention has four matrices: for queries, keys, values, and for its output.
- The MLP has three matrices, gate, up and down, each of hidden_size by intermediate_size.
- The embedding and lm_head are two matrices of their own.
- Norms are left out, and there are no biases.
""",
        points=4,
        arguments=(
            "hidden_size",
            "intermediate_size",
            "num_hidden_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "head_dim",
            "vocab_size",
        ),
        inputs=INPUTS,
        results={"the parameters": PARAMETERS, "the bytes of a token": CACHE},
        case=_case,
        words={
            "layers: left-out num_hidden_layers": "That counts a single layer.",
            "kept: left-out num_hidden_layers": "That is what one layer keeps. Every layer has a "
            "cache.",
            "numbers: left-out num_key_value_heads": "That keeps one head. There are several.",
            "numbers: left-out head_dim": "That keeps one number of each head. A head has head_dim "
            "of them.",
            "layers: left-out attention": "That leaves out attention.",
            "layers: left-out mlp": "That leaves out the MLPs.",
        },
        slips={
            "the parameters": [
                _parameters(
                    "no groups",
                    "attention = 4 * hidden_size * head_dim * num_attention_heads",
                    NO_GROUPS,
                ),
                _parameters(
                    "heads as wide as the model",
                    "attention = 2 * hidden_size * hidden_size "
                    "* (1 + num_key_value_heads / num_attention_heads)",
                    WIDTH,
                ),
                _parameters("all square", "attention = 4 * hidden_size * hidden_size", WIDTH),
                _parameters(
                    "heads of a share",
                    "attention = 2 * hidden_size * floor(hidden_size / num_attention_heads) "
                    "* (num_attention_heads + num_key_value_heads)",
                    WIDTH,
                ),
                _parameters(
                    "queries and output square",
                    "attention = 2 * hidden_size * hidden_size "
                    "+ 2 * hidden_size * head_dim * num_key_value_heads",
                    WIDTH,
                ),
                _parameters(
                    "output square",
                    "attention = hidden_size * head_dim * num_attention_heads "
                    "+ 2 * hidden_size * head_dim * num_key_value_heads "
                    "+ hidden_size * hidden_size",
                    "That makes the matrix of the output square, or that of the queries. One of "
                    "its sides is num_attention_heads · head_dim.",
                ),
                _parameters(
                    "one of two",
                    "attention = hidden_size * head_dim "
                    "* (num_attention_heads + 2 * num_key_value_heads)",
                    "That leaves out the output of attention, as large as the queries' matrix.",
                ),
            ],
            "the bytes of a token": [
                _cache("no groups", "numbers = pair * num_attention_heads * head_dim", NO_GROUPS),
                _cache(
                    "heads as wide as the model",
                    "numbers = pair * hidden_size * num_key_value_heads / num_attention_heads",
                    WIDTH,
                ),
                _cache(
                    "heads of a share",
                    "numbers = pair * num_key_value_heads "
                    "* floor(hidden_size / num_attention_heads)",
                    WIDTH,
                ),
                _cache("as wide as the model", "numbers = pair * hidden_size", WIDTH),
            ],
        },
        praise="These two figures are all that the next questions need of a model.",
        how="write down the shape of each matrix of a layer and add; for the cache count what one "
        "token leaves behind in one layer",
    ),
    "ps5.remedies": Order(
        **_for(20, 16384),
        beside=f"A step fetches {READ / 1e9:.2f} · 10⁹ weights, and for each token in a cache "
        f"{KEPT:,} numbers of keys and values. Memory binds. With C, the keys and values of the "
        "prefix lie in the cache when a new prompt is read; in a step each user's attention reads "
        "all tokens, as before. With E, the kernel reads the int8 weights from memory in each step "
        "and writes them there in bf16, and the matmul reads those. A remedy that makes the step "
        "slower buys less than nothing.",
        chips=("H100 SXM", "H200"),
        points=3,
        items=tuple(REMEDIES),
        again=_for_others,
        reversed_says="Exactly reversed: what buys least comes first.",
        wrong={
            "caches that hardly count": (
                lambda name: _faster(name, 0),
                "That is the order where the caches hardly count. Here each of 20 users has one.",
            ),
        },
        needs={
            ("E", "C"): "The kernel of E reads 1 byte of each weight and writes 2, and the matmul "
            "reads these 2. How many bytes is that?",
            ("C", "A"): "C spares work when a prompt is read. What does it spare in a step?",
            ("A", "B"): "Which take more bytes here, the weights or the caches?",
            ("A", "D"): "D shortens all of a step, A the part of it that fetches weights.",
            ("D", "F"): "D fetches 4.8/3.35 times as fast. By what factor does F cut the bytes?",
            ("D", "B"): "D fetches 4.8/3.35 times as fast. How many bytes are left with B?",
            ("B", "F"): "F does what B does, and more.",
        },
        how="for each the bytes of weights and caches, over the bandwidth; compare with the step "
        "as it is",
        praise="With so many long caches the weights are the smaller part. With few users the "
        "order is another.",
    ),
}
