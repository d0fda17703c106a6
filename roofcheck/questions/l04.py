"""Lecture 04, "Matrix multiplication"."""

import math
from dataclasses import replace

import roofkit as rk
from roofcheck.inputs import Instead, bandwidth, count, fma, itemsize, longer, peak
from roofcheck.kinds import Choice, Formula, Number, Several
from roofcheck.slips import Slip

H100, V5E, A100, A100_40 = "H100 SXM", "TPU v5e", "A100 80GB SXM", "A100 40GB SXM"
# The layer whose times were published, a pair of matrices for every other question.
LAYER = {"D": count(8192, "D", draw=(0.5, 1, 2)), "F": count(2560, "F", draw=(1, 2, 4))}
BF16 = {"ops": fma(), "size": itemsize("bf16", "an element")}
# The scratchpad's loops: matrices of N · N, in blocks of b · b.
LOOP = {"N": count(64, "N", draw=(2, 4)), "b": count(16, "the side of a block", draw=(0.5, 1, 2))}


def _intensity(ops, size, *lengths):
    """Of a matmul whose three lengths are these; of a tile, whose third has no end, of two."""
    return ops / size / sum(1 / length for length in lengths)


def _critical(ops, size, peak, bandwidth, D, F):
    """The B of 1/I = 1/B + 1/D + 1/F at the ridge."""
    return 1 / (ops * bandwidth / (size * peak) - 1 / D - 1 / F)


def _layer(chip, D, F, others=()):
    return {
        "D": count(D, "D", draw=(1, 2)),
        "F": count(F, "F", draw=(1, 2)),
        "peak": peak(chip, others=others),
        "bandwidth": bandwidth(chip, others=others),
    } | BF16


def _but_bits(given):
    """An input without the slips of 8 bits: the batch in bf16 is 8 times that in fp32."""
    kept = tuple(one for one in given.instead if "bits" not in one.name)
    return replace(given, instead=kept)


def _reaches(ops, size, peak, bandwidth, D, F):
    """Whether some batch reaches the ridge, and not only a vast one."""
    return 0.4 * ops * bandwidth / (size * peak) > 1 / D + 1 / F


def _ridge(chip):
    return rk.chip(chip).roofline("bf16").ridge


def _sum(math, comms):
    return math + comms


def _time(pick, tokens, D, F, peak, bandwidth, ops, size):
    t_math = ops * tokens * D * F / peak
    return pick(t_math, size * (tokens * D + D * F + tokens * F) / bandwidth)


def _batch(reads):
    """B on one chip while it reads prompts, or while it writes answers."""
    inputs = {
        "prompts": count(16, "the prompts", draw=(1, 2, 4)),
        "length": count(512, "the tokens of each", draw=(0.5, 2, 4)),
        "replicas": count(4, "the replicas", draw=(0.5, 1, 2)),
    }
    if reads:
        formula, slips = (
            (lambda prompts, length, replicas: prompts * length / replicas),
            [
                Slip(
                    "sequences",
                    lambda prompts, replicas: prompts / replicas,
                    "Those are sequences. B counts tokens, and all of a prompt go at once.",
                ),
                Slip(
                    "all sequences",
                    lambda prompts: prompts,
                    "Those are the sequences of all replicas. Count tokens, on one chip.",
                ),
                Slip(
                    "one prompt",
                    lambda length: length,
                    "That is one prompt. A chip has several, and their tokens go together.",
                ),
                Slip(
                    "all replicas",
                    lambda prompts, length: prompts * length,
                    "Those are the tokens of all replicas. Each chip multiplies its own share.",
                ),
                Slip(
                    "a prompt shared out",
                    lambda length, replicas: length / replicas,
                    "That shares the tokens of one prompt out. Whole prompts go to the replicas.",
                ),
                Slip(
                    "multiplied",
                    lambda prompts, length, replicas: prompts * length * replicas,
                    "That multiplies by the replicas. They share the prompts out.",
                ),
            ],
        )
    else:
        formula, slips = (
            (lambda prompts, replicas: prompts / replicas),
            [
                Slip(
                    "context",
                    lambda prompts, length, replicas: prompts * length / replicas,
                    "Those are the tokens that were read. Writing, each sequence sends one token "
                    "through the weights at a time.",
                ),
                Slip(
                    "all replicas",
                    lambda prompts: prompts,
                    "That is B of all replicas together. Each chip multiplies its own share.",
                ),
                Slip(
                    "one prompt",
                    lambda length: length,
                    "Those are the tokens of one prompt, read before. Writing, each sequence sends "
                    "one token at a time.",
                ),
                Slip(
                    "one sequence",
                    lambda: 1.0,
                    "That is one sequence. The chip writes for several at once.",
                ),
                Slip(
                    "multiplied",
                    lambda prompts, replicas: prompts * replicas,
                    "That multiplies by the replicas. They share the prompts out.",
                ),
            ],
        )
    return Number(
        asks="What is B?",
        inputs=inputs,
        formula=formula,
        unit="tokens",
        slips=slips,
        exact=True,
        rtol=1e-6,
        how="count the tokens that meet the weights together, on one chip",
        holds=lambda prompts, length, replicas: prompts / replicas > 1,
    )


RIDGE_ALONE = Slip(
    "ridge",
    lambda peak, bandwidth: peak / bandwidth,
    "That is the ridge, where B would lie if D and F had no end. X and Z cross too: take "
    "1/I = 1/B + 1/D + 1/F.",
)
CRITICAL = [
    RIDGE_ALONE,
    Slip(
        "1 byte, no end",
        lambda peak, bandwidth: peak / bandwidth / 2,
        "That counts 1 byte for an element, as in int8, beside a bf16 peak, and leaves out D and "
        "F.",
    ),
    Slip(
        "one end",
        lambda peak, bandwidth, D: 1 / (bandwidth / peak - 1 / D),
        "That leaves out a matrix, X or Z. Both cross: X is read, Z is written.",
    ),
    Slip(
        "added",
        lambda peak, bandwidth, D, F: 1 / (bandwidth / peak + 1 / D + 1 / F),
        "That adds 1/D and 1/F to 1/ridge. 1/B is what is left of 1/ridge without them.",
    ),
    Slip(
        "not turned over",
        lambda peak, bandwidth, D, F: bandwidth / peak - 1 / D - 1 / F,
        "That is 1/B. Turn it over.",
    ),
    Slip(
        "twice",
        lambda peak, bandwidth, D, F: 1 / (bandwidth / peak - 2 * (1 / D + 1 / F)),
        "That counts X and Z twice. Each crosses once.",
    ),
    Slip(
        "without end",
        lambda D, F: D * F / (D + F),
        "That is the intensity that B without end approaches. Which B gives the ridge?",
    ),
    Slip(
        "lengths subtracted",
        lambda peak, bandwidth, D, F: D * F / (D + F) - peak / bandwidth,
        "That subtracts lengths. It is their inverses that add: 1/I = 1/B + 1/D + 1/F.",
    ),
]


QUESTIONS = {
    "l04.warmup-ridge": Number(
        asks="What is the bf16 ridge of the {chip}, {peak} and {bandwidth}, in FLOP/byte?",
        inputs={"peak": peak(H100), "bandwidth": bandwidth(H100)},
        formula=lambda peak, bandwidth: peak / bandwidth,
        unit="FLOP/byte",
        slips=[
            Slip(
                "TPU v5e",
                lambda: _ridge(V5E),
                "That is the TPU v5e's. Take the figures of this chip.",
                here=True,
            ),
            Slip(
                "product",
                lambda peak, bandwidth: peak * bandwidth,
                "That multiplies. FLOP/s over byte/s is FLOP/byte.",
            ),
            Slip(
                "A100",
                lambda: _ridge(A100),
                "That is the A100 80GB's. Take the figures of this chip.",
                here=True,
            ),
            Slip(
                "rounded peak",
                lambda bandwidth: 1e15 / bandwidth,
                "With 10¹⁵ FLOP/s, the peak rounded up.",
                credit=1,
                here=True,
            ),
        ],
        praise="Keep it at hand.",
        how="the ridge is peak over bandwidth",
    ),
    "l04.warmup-act": Number(
        asks="A published tool counts the activation silu(g) · u of a model at its width, {narrow} "
        "numbers a token. g and u are the results of the matrices before, {wide} numbers each. How "
        "many bytes does it move for a token in bf16, result included?",
        inputs={
            "arrays": count(
                3,
                "the arrays that cross",
                instead=[
                    Instead("g and u alone", 2, "That reads g and u and writes nothing."),
                    Instead("one array", 1, "That is one array. Which others cross?"),
                ],
                draw=(),
            ),
            "narrow": count(4096, "the width of the model", draw=(1, 2)),
            "wide": count(11008, "the numbers of g", draw=(1, 2)),
            "size": itemsize("bf16", "an element"),
        },
        formula=lambda arrays, wide, size: arrays * wide * size,
        unit="bytes",
        slips=[
            Slip(
                "as the tool",
                lambda arrays, narrow, size: arrays * narrow * size,
                "That is the tool's count, at the width of the model. How long are g and u?",
            ),
            Slip(
                "result narrow",
                lambda narrow, wide, size: (2 * wide + narrow) * size,
                "That writes a result as narrow as the model. It has as many numbers as g and u.",
            ),
            Slip(
                "FLOPs",
                lambda wide: 5 * wide,
                "Those are the FLOPs, five for each number. Bytes are asked for.",
            ),
        ],
        praise="Two bytes for each number of three arrays.",
        how="which arrays cross, how many numbers has each, and how many bytes a number?",
    ),
    "l04.users": Number(
        asks="How many times as long as one token do {tokens} tokens take in a layer of "
        "{D} × {F} bf16 weights on the {chip}, with full overlap?",
        inputs={
            "tokens": count(64, "the tokens", draw=(0.25, 0.5, 1)),
            "peak": peak(H100),
            "bandwidth": bandwidth(H100),
            "pick": longer(),
        }
        | LAYER
        | BF16,
        formula=lambda pick, tokens, D, F, peak, bandwidth, ops, size: (
            _time(pick, tokens, D, F, peak, bandwidth, ops, size)
            / _time(max, 1, D, F, peak, bandwidth, ops, size)
        ),
        unit="times",
        slips=[
            Slip(
                "each alone",
                lambda tokens: tokens,
                "So it would be if each token fetched the weights anew. One fetch serves them all.",
            ),
            Slip(
                "no overlap",
                lambda tokens, D, F, peak, bandwidth, ops, size: (
                    _time(_sum, tokens, D, F, peak, bandwidth, ops, size)
                    / _time(_sum, 1, D, F, peak, bandwidth, ops, size)
                ),
                "That adds T_math and T_comms. With full overlap the longer time is all.",
            ),
        ],
        holds=lambda tokens, peak, bandwidth: tokens < 0.8 * peak / bandwidth,
        how="which time is the longer one, and what of it depends on the number of tokens?",
    ),
    "l04.sixty-four": Number(
        asks="X[{B}, {D}] · Y[{D}, {F}] in bf16: what is its intensity, in FLOP/byte?",
        inputs={
            "B": count(64, "B", draw=(0.25, 0.5, 2)),
            "D": count(4096, "D", draw=(0.5, 2)),
            "F": count(4096, "F", draw=(0.5, 2)),
        }
        | BF16,
        formula=lambda B, D, F, ops, size: _intensity(ops, size, B, D, F),
        unit="FLOP/byte",
        slips=[
            Slip(
                "B",
                lambda B: B,
                "That is B itself, which counts the weights' bytes alone.",
            ),
            Slip(
                "no output",
                lambda B, F, ops, size: _intensity(ops, size, B, F),
                "That leaves out a matrix, X or Z. X is read and Z is written.",
            ),
        ],
        how="1/I = 1/B + 1/D + 1/F in bf16",
    ),
    "l04.h100-critical": Number(
        asks="From how many tokens on does compute bind X[B, {D}] · Y[{D}, {F}] in bf16 on the "
        "{chip}, exactly?",
        inputs=_layer(H100, 8192, 8192, others=[V5E]),
        formula=_critical,
        unit="tokens",
        slips=[
            *CRITICAL,
            Slip(
                "1 byte, rounded peak",
                lambda peak, bandwidth: 1e15 / bandwidth / 2,
                "That counts 1 byte for an element, as in int8, beside a bf16 peak, and leaves "
                "out D and F.",
                here=True,
            ),
        ],
        holds=_reaches,
        how="set I to the ridge in 1/I = 1/B + 1/D + 1/F",
    ),
    "l04.v5e-critical": Number(
        asks="From how many tokens on does compute bind X[B, {D}] · Y[{D}, {F}] in bf16 on the "
        "{chip}, exactly?",
        inputs=_layer(V5E, 2048, 2048, others=[H100]),
        formula=_critical,
        unit="tokens",
        slips=[
            *CRITICAL,
            Slip(
                "8192",
                lambda ops, size, peak, bandwidth: _critical(
                    ops, size, peak, bandwidth, 8192, 8192
                ),
                "That is the batch of 8192 × 8192 weights. Here D and F are 2048.",
                here=True,
            ),
        ],
        holds=_reaches,
        how="set I to the ridge in 1/I = 1/B + 1/D + 1/F",
        praise="A third above the ridge: X and Z are not small beside weights as narrow as these.",
    ),
    "l04.small-layer": Choice(
        asks="D = F = 512 in bf16 on an H100 SXM: does compute bind from B = ridge on, from a "
        "larger B on, or never?",
        formula=lambda: "never",
        why_not={
            "ridge": "That holds for D and F without end. Here 1/D + 1/F is 1/256: what does that "
            "leave for 1/B?",
            "larger": "Put D = F = 512 into 1/B = 1/ridge - 1/D - 1/F: which sign does it have?",
        },
        also={
            "never": (
                "none",
                "no B",
                "no batch",
                "at no B",
                "for no B",
                "nowhere",
                "infinity",
                "inf",
                "never reached",
                "it never does",
                "never compute",
                "there is no such B",
                "no",
            ),
            "ridge": ("from the ridge on", "from B = ridge on", "B = ridge", "at the ridge"),
            "larger": (
                "a larger B",
                "from a larger B on",
                "bigger",
                "above",
                "more",
                "beyond the ridge",
                "higher",
            ),
        },
        how="1/I = 1/B + 1/D + 1/F: let B grow without end",
        praise=f"However large B is, I stays below 256, and the ridge is {_ridge(H100):.0f}.",
    ),
    "l04.tokens": Several(
        asks="A server has {prompts} prompts of {length} tokens in hand; each of its {replicas} "
        "replicas takes an equal share. What is B in the matmuls of one chip: {parts}?",
        parts={"Reading": _batch(reads=True), "Writing": _batch(reads=False)},
        praise="The prompt's tokens are known, so they all go at once; of the answer each "
        "sequence has one token at a time.",
        how="count the tokens that meet the weights together, on one chip",
    ),
    "l04.fp32": Number(
        asks="X, Y and Z in fp32, D and F large: from how many tokens on does compute bind on "
        "the {chip}?",
        inputs={
            "peak": peak(A100, "fp32", dtypes=("bf16", "int8"), sparse=False),
            "bandwidth": _but_bits(bandwidth(A100, others=[A100_40])),
            "ops": fma(),
            "size": _but_bits(itemsize("fp32", "an element")),
        },
        formula=lambda peak, bandwidth, ops, size: size / ops * peak / bandwidth,
        unit="tokens",
        slips=[
            Slip(
                "ridge",
                lambda peak, bandwidth: peak / bandwidth,
                "That is the ridge. With 4 bytes for a number, I is B/2.",
            ),
            Slip(
                "as in bf16",
                lambda: _ridge(A100),
                "That is the batch in bf16. Peak and bytes both change.",
                here=True,
            ),
            Slip(
                "bytes the wrong way",
                lambda: _ridge(A100) / 2,
                "That halves the batch of bf16. Wider numbers lower the intensity; and the peak "
                "changes too.",
                here=True,
            ),
        ],
        how="in fp32 I = B/2; the ridge is that of the fp32 peak",
        praise="A sixteenth of the peak is so easily fed that twice the bytes do not matter.",
    ),
    "l04.own-weights": Formula(
        asks="Every one of B tokens has a weight matrix of its own: X[B, D], Y[B, D, F], Z[B, F], "
        "all bf16. Give the intensity as a formula of B, D and F.",
        arguments=("B", "D", "F"),
        inputs=BF16,
        results={"intensity": lambda B, D, F, ops, size: _intensity(ops, size, 1, D, F)},
        case=lambda rng, number: tuple(rng.randint(2, 60) for _ in "BDF"),
        unit="FLOP/byte",
        slips={
            "intensity": [
                Slip(
                    "shared",
                    lambda B, D, F, ops, size: _intensity(ops, size, B, D, F),
                    "That shares one matrix among all tokens. Here Y has B · D · F elements.",
                ),
                Slip(
                    "limit",
                    lambda ops, size: ops / size,
                    "That is what it approaches as D and F grow. X and Z cross too.",
                ),
                Slip(
                    "limit in int8",
                    lambda ops: ops,
                    "That is what it approaches at 1 byte for an element. bf16 takes 2, and X and "
                    "Z cross too.",
                ),
                Slip(
                    "as if shared, roughly",
                    lambda B: B,
                    "That is I ≈ B, which comes of sharing one matrix. Here each token has its "
                    "own.",
                ),
                Slip(
                    "Y not read",
                    lambda D, F, ops, size: _intensity(ops, size, D, F),
                    "That leaves out Y, most of the bytes.",
                ),
                Slip(
                    "FLOPs",
                    lambda B, D, F, ops: ops * B * D * F,
                    "Those are the FLOPs. Divide them by the bytes.",
                ),
                Slip(
                    "bytes",
                    lambda B, D, F, size: size * (B * D + B * D * F + B * F),
                    "Those are the bytes. Intensity is FLOPs over bytes.",
                ),
                Slip(
                    "Z not written",
                    lambda F, ops, size: _intensity(ops, size, 1, F),
                    "That leaves out Z, which is written.",
                ),
                Slip(
                    "X not read",
                    lambda D, ops, size: _intensity(ops, size, 1, D),
                    "That leaves out X, which is read.",
                ),
                Slip(
                    "one token's FLOPs",
                    lambda B, D, F, ops, size: _intensity(ops, size, 1, D, F) / B,
                    "That counts the FLOPs of one token and the bytes of all.",
                ),
                Slip(
                    "one token's bytes",
                    lambda B, D, F, ops, size: _intensity(ops, size, 1, D, F) * B,
                    "That counts the FLOPs of all tokens and the bytes of one.",
                ),
            ]
        },
        how="each token is a matmul with B = 1; add up the FLOPs and bytes of all",
        praise="B has cancelled: without sharing, no batch helps.",
    ),
    "l04.attention": Choice(
        asks="64 requests write a token each, and each multiplies it with its own past tokens. As "
        "requests join, what does the intensity of that product do?",
        formula=lambda: "stays",
        why_not={
            "grows": "It would if they shared the matrix. Each request brings its own: FLOPs and "
            "bytes grow alike.",
            "falls": "A further request brings bytes, and FLOPs in proportion.",
        },
        also={
            "stays": (
                "stays the same",
                "same",
                "constant",
                "no change",
                "unchanged",
                "nothing",
                "does not change",
                "doesn't change",
                "is constant",
                "remains",
                "remains the same",
                "stays constant",
                "about 1",
                "it stays",
            ),
            "grows": ("rises", "increases", "grows with B", "goes up", "it grows", "64-fold"),
            "falls": ("decreases", "shrinks", "drops", "goes down", "it falls"),
        },
        how="what does a further request add to the FLOPs, and what to the bytes?",
    ),
    "l04.tile": Number(
        asks="A tile of Z of {rows} × {columns} elements, D without end, bf16: what is its "
        "intensity, in FLOP/byte?",
        inputs={
            "rows": count(128, "its rows", draw=(0.5, 1, 2)),
            "columns": count(128, "its columns", draw=(0.5, 1, 2)),
        }
        | BF16,
        formula=lambda rows, columns, ops, size: _intensity(ops, size, rows, columns),
        unit="FLOP/byte",
        slips=[
            Slip(
                "one operand",
                lambda rows: rows,
                "Each number that is loaded serves so many multiply-adds, but each multiply-add "
                "needs two numbers.",
            ),
            Slip(
                "its elements",
                lambda rows, columns: rows * columns,
                "Those are the elements of the tile. Divide its FLOPs by the bytes of the strips.",
            ),
        ],
        exact=True,
        how="for each step along D, rows · columns multiply-adds and rows + columns numbers",
    ),
    "l04.tiled": Number(
        asks="A loop multiplies two bf16 matrices of {N} × {N} in blocks of {b} × {b}; each block "
        "of Z stays in fast memory until it is done. What is its intensity, in FLOP/byte?",
        inputs=LOOP | BF16,
        formula=lambda N, b, ops, size: _intensity(ops, size, b, b, N),
        unit="FLOP/byte",
        slips=[
            Slip(
                "tile alone",
                lambda b, ops, size: _intensity(ops, size, b, b),
                "That is the tile with D without end. Here D is finite, and Z is stored.",
            ),
            Slip(
                "empty",
                lambda: 0.0,
                "No FLOP was counted: multiply the two blocks into z.",
            ),
            Slip(
                "Z loaded",
                lambda N, b, ops, size: _intensity(ops, size, b, b, N / 2),
                "The loop moves a tile of Z twice. It starts from zeros on the chip and is stored "
                "once.",
            ),
            Slip(
                "Z in every step",
                lambda N, b, ops, size: _intensity(ops, size, b, b, b),
                "The loop stores the tile in every step along D. Store it once, when it is "
                "complete.",
            ),
            Slip(
                "Z once more",
                lambda N, b, ops, size: _intensity(ops, size, b, b, N / (N / b + 1)),
                "The loop stores the tile in every step along D, and once more. Store it once, "
                "when it is complete.",
            ),
            Slip(
                "Z in and out",
                lambda N, b, ops, size: _intensity(ops, size, b, b, b, b),
                "The loop loads and stores the tile in every step along D. It can stay on the "
                "chip.",
            ),
            Slip(
                "element by element",
                lambda N, ops, size: _intensity(ops, size, 1, 1, N),
                "That is the loop that computes one element of Z at a time.",
            ),
            Slip(
                "ideal",
                lambda N, ops, size: _intensity(ops, size, N, N, N),
                "That is the ideal count, where each matrix crosses once. The tiles load X and Y "
                "more often.",
            ),
            Slip(
                "one step",
                lambda N, b, ops, size: _intensity(ops, size, b, b, N) * b / N,
                "That does the FLOPs of one step along D. Go through all of it.",
                here=True,
            ),
        ],
        rtol=1e-3,
        how="load X[i:i+b, k:k+b] and Y[k:k+b, j:j+b], then matmul into z",
    ),
    "l04.cube": Number(
        asks="A text has M = N = K = {side} in fp16 and prints 2MNK/(MK + KN + MN) as intensity. "
        "What is it, in FLOP/byte?",
        inputs={"side": count(4096, "M, N and K", draw=(0.25, 0.5, 2))}
        | {"ops": fma(), "size": itemsize("fp16", "an element")},
        formula=lambda side, ops, size: _intensity(ops, size, side, side, side),
        unit="FLOP/byte",
        slips=[
            Slip(
                "two matrices",
                lambda side, ops, size: _intensity(ops, size, side, side),
                "That moves two matrices. A and B are read, C is written: three cross.",
            ),
            Slip(
                "four matrices",
                lambda side, ops, size: _intensity(ops, size, side, side, side, side),
                "That moves four matrices. A and B are read, C is written and not read.",
            ),
            Slip(
                "side",
                lambda side: side,
                "That is I ≈ B, which holds while B is far below D and F.",
            ),
        ],
        how="2MNK FLOPs, over the bytes of three matrices",
        praise="The text divided by elements. In fp16 there are twice as many bytes.",
    ),
    "l04.flat-tile": Number(
        asks="A tile of {rows} × {columns} has as many elements as one of 128 × 128. What is its "
        "intensity in bf16, D without end?",
        inputs={
            "rows": count(256, "the number of rows", draw=(0.5, 2, 4)),
            "columns": count(64, "the number of columns", draw=(1, 2)),
        }
        | BF16,
        formula=lambda rows, columns, ops, size: _intensity(ops, size, rows, columns),
        unit="FLOP/byte",
        slips=[
            Slip(
                "by area",
                lambda: 64.0,
                "That is the square tile's. The longer strips of this one serve shorter sides.",
                here=True,
            ),
            Slip(
                "the longer side",
                lambda rows, columns: max(rows, columns) / 2,
                "That is a square tile of the longer side.",
            ),
            Slip(
                "the shorter side",
                lambda rows, columns: min(rows, columns) / 2,
                "That is a square tile of the shorter side.",
            ),
            Slip(
                "mean",
                lambda rows, columns: (rows + columns) / 4,
                "That averages the sides. It is their inverses that add.",
            ),
            Slip(
                "mean of the sides",
                lambda rows, columns: (rows + columns) / 2,
                "That averages the sides. It is their inverses that add.",
            ),
            Slip(
                "numbers brought",
                lambda rows, columns: rows + columns,
                "Those are the numbers that a step along D brings. Divide its FLOPs by their "
                "bytes.",
            ),
            Slip(
                "its elements",
                lambda rows, columns: rows * columns,
                "Those are the elements of the tile. Divide its FLOPs by the bytes of the strips.",
            ),
        ],
        exact=True,
        how="rows · columns / (rows + columns)",
        praise="Of all tiles of one area the square moves the least.",
    ),
    "l04.waves": Number(
        asks="B = {B} tokens, F = {F}, tiles of {side} × {side}, {units} SMs that take a tile "
        "each: how many times as long as one tile does the layer take?",
        inputs={
            "B": count(1680, "B", draw=()),
            "F": count(2560, "F", draw=()),
            "side": count(128, "the side of a tile", draw=()),
            "units": count(132, "the SMs", draw=()),
        },
        formula=lambda B, F, side, units: math.ceil(
            math.ceil(B / side) * math.ceil(F / side) / units
        ),
        unit="times",
        slips=[
            Slip(
                "parts of a tile",
                lambda B, F, side, units: math.ceil(B / side * F / side / units),
                "That counts a part of a tile as a part. The last row of tiles is whole too.",
            ),
            Slip(
                "waves rounded down",
                lambda B, F, side, units: math.floor(
                    math.ceil(B / side) * math.ceil(F / side) / units
                ),
                "That drops the last wave. However few its tiles, it takes as long as a full one.",
            ),
            Slip(
                "rows rounded down",
                lambda B, F, side, units: B // side * math.ceil(F / side) / units,
                "That drops the last row of tiles. However few its tokens, it is computed whole.",
            ),
            Slip(
                "parts of a wave",
                lambda B, F, side, units: math.ceil(B / side) * math.ceil(F / side) / units,
                "That is tiles over SMs. The last wave takes as long as a full one.",
            ),
            Slip(
                "parts of both",
                lambda B, F, side, units: B / side * F / side / units,
                "That counts parts of tiles and parts of a wave. Both are whole.",
            ),
            Slip(
                "tiles",
                lambda B, F, side: math.ceil(B / side) * math.ceil(F / side),
                "Those are the tiles. Divide them among the SMs.",
            ),
            Slip(
                "tiles and parts",
                lambda B, F, side: B / side * F / side,
                "Those are tiles and parts of tiles. Count whole ones, then divide them among the "
                "SMs.",
            ),
            Slip(
                "columns of tiles",
                lambda F, side: math.ceil(F / side),
                "Those are the tiles of one row. How many rows of them are there?",
            ),
            Slip(
                "rows and parts",
                lambda B, side: B / side,
                "Those are rows of tiles and a part of one. Count whole rows; each has F / 128 "
                "tiles.",
                here=True,
            ),
            Slip(
                "rows of tiles",
                lambda B, side: math.ceil(B / side),
                "Those are the rows of tiles. Each has F / 128 of them.",
                here=True,
            ),
        ],
        rtol=1e-6,
        exact=True,
        how="round up twice: rows of tiles, then waves",
        praise="14 · 20 tiles are 2.12 waves, so three: 16 tokens fewer would save a third.",
    ),
}
