"""Lecture 02, "One number: arithmetic intensity"."""

import roofkit as rk
from roofkit.judge import Choice, Number, Turn

V5E, A100_40, A100_80 = (rk.chip(name) for name in ("TPU v5e", "A100 40GB SXM", "A100 80GB SXM"))
UPSIDE_DOWN = "Upside down: intensity is FLOPs over bytes."

QUESTIONS = {
    "l02.warmup-time": Number(
        lambda: 5e11 / V5E.peak_flops("bf16"),
        "s",
        # 2.5 ms, done in the head, is fine.
        rtol=0.03,
        turns=(Turn(lambda: 5e11 / V5E.bandwidth, "FLOPs go over FLOP/s, not over bytes/s."),),
    ),
    "l02.warmup-bound": Choice(
        lambda: rk.Estimate(math=2e-3, comms=3e-3).bound,
        why_not={"compute": "3 ms of moving outlast 2 ms of arithmetic. The longer time binds."},
    ),
    "l02.axpy": Number(
        lambda: rk.axpy(1_000_000, "bf16").intensity,
        "FLOP/byte",
        turns=(
            Turn(lambda: 2 / 3, "You counted 3N elements. Each takes 2 bytes in bf16."),
            Turn(lambda: 2 / 4, "y is read and written: three arrays cross."),
            Turn(lambda: 3, UPSIDE_DOWN),
            Turn(lambda: 1 / 6, "A multiply-add is 2 FLOPs."),
            Turn(lambda: 1 / 4, "a is one number, not N of them. Only x and y cross."),
        ),
    ),
    "l02.sum": Number(
        lambda: rk.elementwise(1_000_000, "bf16", reads=1, writes=0).intensity,
        "FLOP/byte",
        turns=(
            Turn(lambda: 1.0, "You counted 1 byte an element. bf16 takes 2."),
            Turn(lambda: 0.25, "Only one number is written, not N: the sum stays on the chip."),
            Turn(lambda: 2.0, UPSIDE_DOWN),
            Turn(
                lambda: 1 / 6,
                "That is adding two vectors. Here one is read and a single number is written.",
            ),
            Turn(
                lambda: 999_999 / 2,
                "You counted the bytes of one number. N of them are read.",
            ),
        ),
        praise="One addition for every 2 bytes read.",
    ),
    "l02.ridge": Number(
        lambda: V5E.roofline().ridge,
        "FLOP/byte",
        # The scaling book's rounded bandwidths give 240.2 and 243.2.
        rtol=0.02,
        turns=(
            Turn(lambda: 1 / V5E.roofline().ridge, "Upside down: FLOP/s over bytes/s."),
            Turn(
                lambda: V5E.roofline().ridge / 8,
                "You turned the bandwidth into bits. Intensity counts bytes.",
            ),
            Turn(
                lambda: V5E.roofline("int8").ridge,
                "That is the int8 peak. The question asks for bf16.",
            ),
            Turn(
                lambda: V5E.roofline(channel="link").ridge,
                "That is the ridge over the chip-to-chip link. Divide by the memory's bandwidth.",
            ),
        ),
        praise="About that many FLOPs with every byte keep the arithmetic busy.",
    ),
    "l02.a100-80-ridge": Number(
        lambda: A100_80.roofline().ridge,
        "FLOP/byte",
        turns=(
            Turn(
                lambda: A100_40.roofline().ridge,
                "That is the 40 GB card. The 80 GB card has faster memory: 2,039 GB/s.",
            ),
            Turn(
                lambda: rk.chip("A100 80GB PCIe").roofline().ridge,
                "That is the PCIe card. The text asks for the SXM board.",
            ),
            Turn(
                lambda: 2 * A100_80.roofline().ridge,
                "That is the sparse peak, 624 TFLOP/s. Dense matrices reach half of it.",
            ),
        ),
    ),
    "l02.attainable": Number(
        lambda: A100_40.roofline().attainable(190),
        "FLOP/s",
        turns=(
            Turn(
                lambda: A100_40.peak_flops("bf16"),
                "190 lies left of this card's ridge, so the slope binds: intensity times "
                "bandwidth.",
            ),
            Turn(
                lambda: 190 * A100_80.bandwidth,
                "That is the 80 GB card's slope, and above its own roof besides.",
            ),
            Turn(
                lambda: A100_40.bandwidth / 190,
                "You divided bandwidth by intensity. Multiply: byte/s times FLOP/byte is FLOP/s.",
            ),
            Turn(
                lambda: 190 / A100_40.roofline().ridge,
                "That is the share of peak. FLOP/s are asked.",
            ),
        ),
    ),
    "l02.far-below": Choice(
        lambda: "memory",
        why_not={
            "compute": "Its intensity is left of the ridge, where the slope is the lower roof.",
            "cannot tell": "Intensity and ridge are known, and they say which roof it is. What you "
            "cannot tell is why the kernel stays below it.",
        },
        praise="Intensity against ridge says which roof it has. What keeps it below that roof is "
        "another question, and the plot does not answer it.",
    ),
    "l02.axis": Choice(
        lambda: "slope",
        why_not={
            "vertical line": "A vertical line at the ridge marks an intensity, FLOP/byte.",
            "flat line": "The flat line is the peak, FLOP/s.",
            "area": "Areas mean nothing on logarithmic axes.",
        },
        praise="The slanted line: FLOP/s per FLOP/byte. On logarithmic axes all such lines are "
        "equally steep; how high one lies is its bandwidth.",
    ),
    "l02.which-bandwidth": Number(
        lambda: 312e12 / 208,
        "byte/s",
        turns=(
            Turn(
                lambda: A100_80.bandwidth,
                "312 / 2.039 is 153. Solve 312e12 / bandwidth = 208 for the bandwidth.",
            ),
            Turn(
                lambda: A100_40.bandwidth,
                "312 / 1.555 is 200.6. Which rounded bandwidth gives 208?",
            ),
            Turn(lambda: 208 / 312e12, "Upside down: bandwidth is peak over ridge."),
        ),
        praise="That is the 40 GB card's 1.555 TB/s, rounded down.",
    ),
}
