"""Problem set 4: two networks and a language model, with their published counts."""

from roofcheck.inputs import Instead, bandwidth, count, fma, itemsize, longer, lower_roof, peak
from roofcheck.kinds import Number, Several
from roofcheck.slips import Slip, always

GTX = "GTX 1080 Ti"


def _cnns():
    """Two networks' multiply-adds and bytes, as an article has them, and the card they run on."""
    return {
        "macs": count(0.5687e9, "the multiply-adds of MobileNet", draw=()),
        "moved": count(74e6, "the bytes of MobileNet", "bytes", draw=()),
        "fused": count(37e6, "the bytes of MobileNet, fused", "bytes", draw=()),
        "vgg_macs": count(15.47e9, "the multiply-adds of VGG16", draw=()),
        "vgg_moved": count(600e6, "the bytes of VGG16", "bytes", draw=()),
        "ops": fma(),
        "peak": peak(GTX, "fp32", dtypes=(), sparse=False),
        "bandwidth": bandwidth(GTX, link=False),
    }


def _speeds(roof, vgg_macs, vgg_moved, macs, moved, ops, peak, bandwidth):
    """VGG16's FLOP/s over MobileNet's."""
    fast = roof(peak, ops * vgg_macs / vgg_moved * bandwidth)
    return fast / roof(peak, ops * macs / moved * bandwidth)


LLAMA = {
    "n": count(40, "the layers", draw=()),
    "h": count(5120, "the width h", draw=()),
    "size": itemsize("fp16", "a parameter"),
}


def _weights(size, n, h):
    return size * 12 * n * h**2


def _prefill(n, h, size, b, s, o, V, margin=1.0):
    flops = n * (24 * b * s * h**2 + 4 * b * s**2 * h) + 2 * b * s * h * V
    return flops / (1.2 * _weights(size, n, h) + margin * 4 * n * b * h * (s + o))


QUESTIONS = {
    "ps4.cnn": Several(
        asks="Multiply-adds and bytes of an image, fp32: VGG16 {vgg_macs} and {vgg_moved}, "
        "MobileNet {macs} and {moved}, fused {fused}. On the {chip}: how many times the FLOP/s of "
        "MobileNet does VGG16 reach, unfused and fused, and how many times as long does its image "
        "take as an unfused MobileNet's?",
        points=3,
        parts={
            "unfused": Number(
                asks="How many times MobileNet's FLOP/s does VGG16 reach?",
                inputs={"roof": lower_roof()} | _cnns(),
                formula=lambda roof, vgg_macs, vgg_moved, macs, moved, ops, peak, bandwidth: (
                    _speeds(roof, vgg_macs, vgg_moved, macs, moved, ops, peak, bandwidth)
                ),
                unit="times",
                slips=[
                    Slip(
                        "as printed",
                        lambda: 3.0,
                        "That is the article's third. Count both networks' FLOPs anew.",
                        here=True,
                    ),
                    *(
                        Slip(
                            "printed intensities",
                            always(found),
                            "That takes the article's 7 FLOP/byte, which counts multiply-adds.",
                            here=True,
                        )
                        for found in (25 / 7, 23.3 / 7, 23.35 / 7)
                    ),
                    Slip(
                        "one network mended",
                        lambda: 25 / 14,
                        "That doubles MobileNet's FLOPs and leaves VGG16 as it was. The peak "
                        "bounds it, too.",
                        here=True,
                    ),
                ],
                how="FLOP/s under the roof for each network, with 2 FLOPs a multiply-add",
            ),
            "fused": Number(
                asks="How many times the FLOP/s of a fused MobileNet does VGG16 reach?",
                inputs={"roof": lower_roof()} | _cnns(),
                formula=lambda roof, vgg_macs, vgg_moved, macs, fused, ops, peak, bandwidth: (
                    _speeds(roof, vgg_macs, vgg_moved, macs, fused, ops, peak, bandwidth)
                ),
                unit="times",
                slips=[
                    Slip(
                        "before fusing",
                        lambda roof, vgg_macs, vgg_moved, macs, moved, ops, peak, bandwidth: (
                            _speeds(roof, vgg_macs, vgg_moved, macs, moved, ops, peak, bandwidth)
                        ),
                        "That keeps the bytes from before fusing.",
                    ),
                    Slip(
                        "past the peak",
                        lambda macs, fused, ops, peak, bandwidth: (
                            peak / (ops * macs / fused * bandwidth)
                        ),
                        "That lets the fused MobileNet run faster than the peak. Which roof is it "
                        "under?",
                        here=True,
                    ),
                ],
                how="on which side of the ridge does MobileNet lie now?",
            ),
            "time": Number(
                asks="How many times as long does VGG16 need for an image?",
                inputs={"pick": longer()} | _cnns(),
                formula=lambda pick, vgg_macs, vgg_moved, macs, moved, ops, peak, bandwidth: (
                    pick(ops * vgg_macs / peak, vgg_moved / bandwidth)
                    / pick(ops * macs / peak, moved / bandwidth)
                ),
                unit="times",
                slips=[
                    Slip(
                        "work",
                        lambda vgg_macs, macs: vgg_macs / macs,
                        "That is the ratio of the multiply-adds. MobileNet waits for its bytes.",
                    ),
                    Slip(
                        "rounded work",
                        lambda: 30.0,
                        "That is the ratio of the multiply-adds, rounded. MobileNet waits for its "
                        "bytes.",
                        here=True,
                    ),
                    Slip(
                        "bytes",
                        lambda vgg_moved, moved: vgg_moved / moved,
                        "That is the ratio of the bytes. VGG16 does not wait for them.",
                    ),
                ],
                how="a time for each network, the longer of two",
            ),
        },
        praise="A third of the speed was a convention, and the network that is slower in FLOP/s "
        "is done long before.",
        how="a peak counts a multiply-add as 2 FLOPs",
    ),
    "ps4.llama": Several(
        asks="A model of {n} layers and width {h} in fp16. The intensity of reading {b} prompts of "
        "{s} tokens by the text's formula, mended; how many times as fast a step for one user "
        "would be without its cache of {tokens} tokens; and with how many tokens in all the cache "
        "weighs as much as the weights?",
        points=3,
        parts={
            "prefill": Number(
                asks="The intensity by the text's formula, with its slip mended, in FLOP/byte?",
                inputs={
                    "b": count(8, "the prompts", draw=(0.5, 2)),
                    "s": count(1024, "the tokens of a prompt", draw=(0.5, 2)),
                    "o": count(1024, "the tokens written", draw=()),
                    "V": count(32000, "the vocabulary", draw=()),
                }
                | LLAMA,
                formula=lambda n, h, size, b, s, o, V: _prefill(n, h, size, b, s, o, V),
                unit="FLOP/byte",
                slips=[
                    Slip(
                        "cache doubled",
                        lambda n, h, b, s, o, V: _prefill(n, h, 1, b, s, o, V, 2),
                        "That doubles the cache. 4nbh(s + o) is in bytes already: K and V, 2 bytes "
                        "a number.",
                    ),
                    Slip(
                        "all doubled",
                        lambda n, h, size, b, s, o, V: _prefill(n, h, size, b, s, o, V, 2),
                        "That doubles the cache, too. 4nbh(s + o) is in bytes already: K and V, 2 "
                        "bytes a number.",
                    ),
                    Slip(
                        "cache halved",
                        lambda n, h, size, b, s, o, V: _prefill(n, h, size, b, s, o, V, 0.5),
                        "That halves the cache: it keeps s + o tokens, a K and a V of each, and "
                        "4nbh(s + o) is in bytes already.",
                    ),
                    Slip(
                        "numbers for bytes",
                        lambda n, h, b, s, o, V: _prefill(n, h, 1, b, s, o, V, 0.5),
                        "That counts numbers in both terms. Which of them did so before?",
                    ),
                    Slip(
                        "margin on all",
                        lambda n, h, size, b, s, o, V: _prefill(n, h, size, b, s, o, V, 1.2),
                        "That puts the 1.2 on the cache, too. The text has it on the weights.",
                    ),
                    Slip(
                        "no margin",
                        lambda n, h, size, b, s, o, V: _prefill(n, h, size / 1.2, b, s, o, V),
                        "That drops the 1.2. The slip lies elsewhere: keep the rest as it is.",
                    ),
                ],
                rtol=0.005,
                how="which term of the divisor is a number of parameters, not of bytes?",
            ),
            "no cache": Number(
                asks="How many times as fast is a step of one user without its cache?",
                inputs={"tokens": count(2048, "the tokens in the cache", draw=(2, 4))} | LLAMA,
                formula=lambda n, h, size, tokens: (
                    1 + 2 * size * n * h * tokens / _weights(size, n, h)
                ),
                unit="times",
                rtol=0.005,
                slips=[
                    Slip(
                        "parameters for bytes",
                        lambda n, h, tokens: 1 + 4 * n * h * tokens / _weights(1, n, h),
                        "That sets the cache's bytes against a number of parameters.",
                    ),
                    Slip(
                        "K alone",
                        lambda n, h, tokens: 1 + 2 * n * h * tokens / _weights(2, n, h),
                        "That reads K alone. Attention reads V, too.",
                    ),
                    Slip(
                        "cache over weights",
                        lambda n, h, tokens: 4 * n * h * tokens / _weights(2, n, h),
                        "That is the cache over the weights. A step fetches both.",
                    ),
                    Slip(
                        "the share",
                        lambda n, h, tokens: 1 / (1 + _weights(2, n, h) / (4 * n * h * tokens)),
                        "That is the cache's share of a step. How many times as fast is one "
                        "without?",
                    ),
                    Slip(
                        "with the margin",
                        lambda n, h, tokens: 1 + 4 * n * h * tokens / (1.2 * _weights(2, n, h)),
                        "That keeps the margin of 1.2. Leave it out here.",
                    ),
                    Slip(
                        "eight users",
                        lambda n, h, tokens: 1 + 8 * 4 * n * h * tokens / _weights(2, n, h),
                        "That has the caches of eight users. One is asked for.",
                        here=True,
                    ),
                    Slip(
                        "one layer's cache",
                        lambda n, h, tokens: 1 + 4 * h * tokens / _weights(2, n, h),
                        "That takes the cache of one layer. Every layer has one.",
                    ),
                ],
                how="the bytes of a step with the cache over those without",
            ),
            "tokens": Number(
                asks="With how many tokens does the cache weigh as much as the weights?",
                inputs={
                    "pair": count(
                        2,
                        "K and V",
                        instead=[Instead("K alone", 1, "That keeps K alone. There is V, too.")],
                        draw=(),
                    ),
                    "cached": itemsize("fp16", "a cached number"),
                }
                | LLAMA,
                formula=lambda n, h, size, pair, cached: (
                    _weights(size, n, h) / (pair * cached * n * h)
                ),
                unit="tokens",
                slips=[
                    Slip(
                        "one layer's cache",
                        lambda n, h, size: _weights(size, n, h) / (4 * h),
                        "That takes the cache of one layer. Every layer has one.",
                    ),
                    Slip(
                        "one layer's weights",
                        lambda n, h, size: _weights(size, n, h) / (4 * n**2 * h),
                        "That takes the weights of one layer, and the cache of all.",
                    ),
                    Slip(
                        "with the margin",
                        lambda n, h, size: 1.2 * _weights(size, n, h) / (4 * n * h),
                        "That keeps the margin of 1.2. Leave it out here.",
                    ),
                    Slip(
                        "each user's",
                        lambda n, h, size: _weights(size, n, h) / (8 * 4 * n * h),
                        "Those are the tokens of each of eight users. How many is that in all?",
                        here=True,
                    ),
                ],
                how="the bytes of all weights over the bytes that one token adds to the cache",
            ),
        },
        praise="The first verdict survives its slip, by luck. The second blames the smaller part: "
        "it is the weights that a lone user waits for.",
        how="all three need the same two figures, in bytes: the weights, and what one token adds "
        "to the cache in all layers",
    ),
}
