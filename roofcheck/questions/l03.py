"""Lecture 03, "The dot product"."""

from roofcheck.inputs import Instead, bandwidth, count, fma, itemsize, peak
from roofcheck.kinds import Choice, Formula, Number
from roofcheck.slips import Slip

V5E, H100, A6000 = "TPU v5e", "H100 SXM", "RTX A6000"
# GELU written out: nine operations on each element, three of which read two arrays.
KERNELS, READS = 9, 12
GELU = {
    "ops": count(KERNELS, "the operations on an element", draw=()),
    "size": count(
        2,
        "the bytes of an element",
        "bytes",
        instead=[Instead("elements", 1, "That comes to 1 byte for an element. bf16 takes 2.")],
        draw=(),
    ),
    "apart": count(
        READS + KERNELS,
        "the arrays that cross as nine kernels",
        instead=[
            Instead(
                "one read each",
                2 * KERNELS,
                "That has every kernel read one array. Three of the nine read two.",
            ),
            Instead(
                "reads alone",
                READS,
                "That counts the reads of the nine kernels alone. Each also writes its result.",
            ),
            Instead(
                "kernels for arrays",
                KERNELS,
                "That has nine arrays cross, one for each of nine kernels. Each reads at least one "
                "and writes one.",
            ),
            Instead(
                "two reads each",
                3 * KERNELS,
                "That has every kernel read two arrays. Six of the nine read only one.",
            ),
        ],
        draw=(),
    ),
    "fused": count(
        2,
        "the arrays that cross as one kernel",
        instead=[
            Instead(
                "result not written",
                1,
                "That has the fused kernel read x and write nothing. The result crosses too.",
            ),
            Instead(
                "x read again",
                1 + READS - 2,
                "That lets the fused kernel fetch x again for each use. It stays on the chip.",
            ),
        ],
        draw=(),
    ),
}

IDLE = "That is idle, and at another intensity than 0.5. Which fraction is used at 0.5?"


QUESTIONS = {
    "l03.warmup-fetch": Number(
        asks="How many seconds does the {chip} need to fetch {vectors} vectors of {N} bf16 "
        "numbers each?",
        inputs={
            "vectors": count(
                2,
                "the vectors",
                instead=[Instead("one", 1, "That fetches one vector. There are two.")],
                draw=(),
            ),
            "N": count(1e9, "the numbers of a vector"),
            "size": itemsize("bf16"),
            "bandwidth": bandwidth(V5E),
            "peak": peak(V5E),
        },
        formula=lambda vectors, N, size, bandwidth: vectors * N * size / bandwidth,
        unit="s",
        figure="comms",
        slips=[
            Slip(
                "one vector, 1 byte",
                lambda N, bandwidth: N / bandwidth,
                "That divides the numbers of one vector. There are two vectors, and each number "
                "takes 2 bytes.",
            ),
            Slip(
                "bytes over peak",
                lambda vectors, N, size, peak: vectors * N * size / peak,
                "That divides bytes by a peak. Bytes go over a bandwidth, FLOPs over a peak.",
            ),
            Slip(
                "bytes themselves",
                lambda vectors, N, size: vectors * N * size,
                "Those are the bytes. Divide them by the bandwidth.",
            ),
        ],
        how="bytes over bandwidth",
    ),
    "l03.warmup-faster": Choice(
        asks="A kernel has intensity 0.5, the chip a ridge of 240. What makes it faster: twice the "
        "peak or twice the bandwidth?",
        formula=lambda: "bandwidth",
        why_not={
            "peak": "0.5 lies left of the ridge, where the slope is the roof. Twice the peak moves "
            "the ridge and leaves the slope where it is.",
        },
        also={
            "bandwidth": ("memory", "memory bandwidth", "the memory", "twice the bandwidth"),
            "peak": ("compute", "arithmetic", "FLOP/s", "twice the peak"),
        },
        how="which roof stands above 0.5, the slope or the flat part?",
        praise="Left of the ridge only the slope counts.",
    ),
    "l03.dot-limit": Number(
        asks="What does the intensity of the dot product of two bf16 vectors approach as they "
        "grow, in FLOP/byte?",
        inputs={
            "ops": fma(),
            "operands": count(2, "the numbers that a multiply-add reads", draw=()),
            "size": itemsize("bf16"),
        },
        formula=lambda ops, operands, size: ops / (operands * size),
        unit="FLOP/byte",
        exact=True,
        how="for very large N, leave out what does not grow with N",
    ),
    "l03.own-length": Formula(
        asks="x · x of N bf16 numbers: the intensity as a formula of N.",
        arguments=("N",),
        inputs={"size": itemsize("bf16", "an element")},
        results={"intensity": lambda N, size: (2 * N - 1) / (size * (N + 1))},
        case=lambda rng, number: (rng.randint(2, 9) + 8 * number,),
        unit="FLOP/byte",
        slips={
            "intensity": [
                Slip(
                    "2N FLOPs",
                    lambda N, size: 2 * N / (size * (N + 1)),
                    "With 2N FLOPs, a multiply-add for each number; to the digit it is 2N - 1.",
                    credit=1,
                ),
                Slip(
                    "x read twice",
                    lambda N, size: (2 * N - 1) / (size * (2 * N + 1)),
                    "That reads two vectors. Both factors are the same x: it is fetched once.",
                ),
                Slip(
                    "x read twice, 2N FLOPs",
                    lambda N, size: 2 * N / (size * (2 * N + 1)),
                    "That reads two vectors. Both factors are the same x: it is fetched once.",
                ),
                Slip(
                    "result not written",
                    lambda N, size: (2 * N - 1) / (size * N),
                    "That writes nothing. The result is one number more.",
                ),
                Slip(
                    "result of 1 byte",
                    lambda N, size: (2 * N - 1) / (size * N + 1),
                    "That counts 1 byte for the result. It is a bf16 number, too.",
                ),
                Slip(
                    "FLOPs",
                    lambda N: 2 * N - 1,
                    "Those are the FLOPs. Divide them by the bytes.",
                ),
                Slip(
                    "bytes",
                    lambda N, size: size * (N + 1),
                    "Those are the bytes. Intensity is FLOPs over bytes.",
                ),
                Slip(
                    "products written",
                    lambda N, size: (2 * N - 1) / (size * 2 * N),
                    "That moves 2N numbers. N are read, and only one, the sum, is written.",
                ),
                Slip(
                    "2N + 1 FLOPs",
                    lambda N, size: (2 * N + 1) / (size * (N + 1)),
                    "That counts more additions than N products need: it takes N - 1.",
                ),
                Slip(
                    "no additions",
                    lambda N, size: N / (size * (N + 1)),
                    "That counts N FLOPs. The products are summed, too: N - 1 additions.",
                ),
                Slip(
                    "no multiplications",
                    lambda N, size: (N - 1) / (size * (N + 1)),
                    "That counts the additions alone. Each number is multiplied by itself, too.",
                ),
                Slip(
                    "limit of x · y",
                    lambda size: 1 / size,
                    "That is what two vectors approach. Here is one, and N does not cancel.",
                ),
                Slip(
                    "limit",
                    lambda size: 2 / size,
                    "That is what it approaches for long vectors. Count the one result, too.",
                ),
                Slip(
                    "upside down",
                    lambda N, size: size * (N + 1) / (2 * N - 1),
                    "Upside down: intensity is FLOPs over bytes.",
                ),
            ]
        },
        how="the FLOPs are those of the dot product; which arrays cross, and how often?",
        praise="It approaches 1, twice the dot product's 1/2: what was fetched once is used twice.",
    ),
    "l03.idle": Number(
        asks="Which fraction of its bf16 peak does the {chip} reach at intensity {intensity}?",
        inputs={
            "intensity": count(0.5, "the intensity of a long dot product", draw=(1, 2, 4)),
            "peak": peak(V5E),
            "bandwidth": bandwidth(V5E),
        },
        formula=lambda intensity, peak, bandwidth: intensity * bandwidth / peak,
        unit="of peak",
        slips=[
            Slip(
                "one over ridge",
                lambda peak, bandwidth: bandwidth / peak,
                "That is 1 over the ridge: what intensity 1 reaches. Here it is 0.5.",
                here=True,
            ),
            Slip(
                "one over 240",
                lambda: 1 / 240,
                "That is 1 over the ridge: what intensity 1 reaches. Here it is 0.5.",
                here=True,
            ),
            Slip(
                "rest of one over ridge",
                lambda peak, bandwidth: 1 - bandwidth / peak,
                IDLE,
                here=True,
            ),
            Slip(
                "the text's rest",
                lambda: 0.995,
                IDLE,
                here=True,
            ),
            Slip(
                "the intensity",
                lambda intensity: intensity,
                "That is the intensity itself. Which fraction of the ridge is it?",
            ),
            Slip(
                "the text's",
                lambda: 0.005,
                "That follows from the text's 99.5%. Compute it: intensity over ridge.",
                here=True,
            ),
            Slip(
                "a speed",
                lambda intensity, bandwidth: intensity * bandwidth,
                "That is a speed, FLOP/s. A fraction of peak is asked for.",
            ),
            Slip(
                "ridge over intensity",
                lambda intensity, peak, bandwidth: peak / bandwidth / intensity,
                "That is how many times too low the intensity is: the fraction upside down.",
            ),
        ],
        beyond=lambda answer: "A fraction of peak cannot exceed 1." if answer > 1 else "",
        how="the intensity over the ridge",
        praise="The matrix unit could do 480 times as much; it has no part in this, though.",
    ),
    "l03.h100-gap": Number(
        asks="How many times lower is an intensity of {intensity} than the fp32 ridge of the "
        "{chip}?",
        inputs={
            "intensity": count(0.5, "the intensity", draw=()),
            "peak": peak(H100, "fp32", sparse=False),
            "bandwidth": bandwidth(H100),
        },
        formula=lambda intensity, peak, bandwidth: peak / bandwidth / intensity,
        unit="times",
        slips=[
            Slip(
                "ridge",
                lambda peak, bandwidth: peak / bandwidth,
                "That is the ridge. How many times the intensity is it?",
            ),
        ],
        how="the ridge over the intensity",
    ),
    "l03.act": Number(
        asks="silu(g) · u takes {ops} FLOPs an element. What is its intensity on bf16 arrays, in "
        "FLOP/byte?",
        inputs={
            "ops": count(
                5,
                "the FLOPs of an element",
                instead=[
                    Instead(
                        "one missing",
                        4,
                        "That counts 4 FLOPs an element. Minus, exponential, addition, division, "
                        "product: which is missing?",
                    ),
                    Instead(
                        "two missing",
                        3,
                        "That counts 3 FLOPs an element. Minus, exponential, addition, division, "
                        "product: which are missing?",
                    ),
                    Instead(
                        "g times",
                        6,
                        "That is what 6 FLOPs an element give. g over the sum is one division, "
                        "with no product besides.",
                    ),
                    Instead(
                        "silu as one",
                        2,
                        "That counts silu as one operation. Each of its four counts here.",
                    ),
                    Instead("one", 1, "That counts 1 FLOP an element. Here it takes 5."),
                ],
                draw=(),
            ),
            "size": itemsize("bf16", "an element"),
            "arrays": count(
                3,
                "the arrays that cross",
                instead=[
                    Instead(
                        "two kernels",
                        5,
                        "That moves five arrays: silu(g) goes to memory and comes back. In one "
                        "kernel it stays on the chip.",
                    ),
                    Instead(
                        "g twice",
                        4,
                        "That moves four arrays. g appears twice in silu, but is fetched once.",
                    ),
                    Instead("one array", 1, "That moves one array. Three cross: g, u, the result."),
                ],
                draw=(),
            ),
        },
        formula=lambda ops, size, arrays: ops / (size * arrays),
        unit="FLOP/byte",
        slips=[
            Slip(
                "two arrays",
                lambda ops, size: ops / (size * 2),
                "That moves two arrays. g and u are read, the result is written.",
            ),
            Slip(
                "FLOPs",
                lambda ops: ops,
                "Those are the FLOPs of an element. Divide them by the bytes that cross for it.",
            ),
            Slip(
                "bytes",
                lambda size, arrays: size * arrays,
                "Those are the bytes of an element. Intensity is FLOPs over bytes.",
            ),
        ],
        exact=True,
        how="list what is read and what is written, in bytes",
        praise="Five times that of an addition, and still far below any ridge.",
    ),
    "l03.published-add": Number(
        asks="How many FLOP/s can x + y reach in 16 bits at {bandwidth}, if every operand is read?",
        inputs={
            "adds": count(
                1,
                "the additions of an element",
                instead=[
                    Instead("2 FLOPs", 2, "That counts 2 FLOPs an element. There is one addition.")
                ],
                draw=(),
            ),
            "size": itemsize("fp16", "an element"),
            "arrays": count(
                3,
                "the arrays that cross",
                instead=[
                    Instead("four arrays", 4, "That moves four arrays. x, y and the sum cross."),
                    Instead("one array", 1, "That moves one array. x, y and the sum cross."),
                ],
                draw=(),
            ),
            "bandwidth": bandwidth(A6000, link=False),
        },
        formula=lambda adds, size, arrays, bandwidth: adds / (size * arrays) * bandwidth,
        unit="FLOP/s",
        slips=[
            Slip(
                "one operand",
                lambda adds, size, bandwidth: adds / (size * 2) * bandwidth,
                "That is the table's own figure. It moves two arrays; how many does x + y read and "
                "write?",
            ),
            Slip(
                "bandwidth over intensity",
                lambda adds, size, arrays, bandwidth: bandwidth * size * arrays / adds,
                "That divides the bandwidth by the intensity. byte/s times FLOP/byte is FLOP/s.",
            ),
            Slip(
                "intensity",
                lambda adds, size, arrays: adds / (size * arrays),
                "That is an intensity, FLOP/byte. Times the bandwidth it is a speed.",
            ),
            Slip(
                "the table's intensity",
                lambda: 0.25,
                "That is the table's intensity. Count again what crosses; then times the "
                "bandwidth it is a speed.",
                here=True,
            ),
        ],
        how="the intensity of x + y, times the bandwidth",
        praise="Two thirds of what the table says.",
    ),
    "l03.three-passes": Number(
        asks="A kernel reads its input {reads} times and writes it once. How many times as long "
        "does it take as with one read, if memory binds?",
        inputs={
            "reads": count(3, "the reads", draw=(1, 2, 3)),
            "writes": count(1, "the writes", draw=()),
        },
        formula=lambda reads, writes: (reads + writes) / (1 + writes),
        unit="times",
        exact=True,
        how="count the crossings of each, reads and writes",
    ),
    "l03.fused-gain": Number(
        asks="GELU as nine kernels or as one: how many times as fast is the one, if memory binds?",
        inputs=GELU,
        formula=lambda apart, fused: apart / fused,
        unit="times",
        exact=True,
        how="count the arrays that cross, read and written, for each",
    ),
    "l03.why-bytes": Choice(
        asks="Why is the fused kernel faster by exactly the ratio of bytes?",
        formula=lambda: "memory",
        why_not={
            "FLOPs": "Both do the same nine FLOPs for each element.",
            "launches": "Starting fewer kernels helps, too, but not by the ratio of bytes; these "
            "estimates hold no launch at all.",
        },
        also={
            "memory": (
                "memory binds both",
                "both are memory-bound",
                "they are memory-bound",
                "bytes",
                "bandwidth",
            ),
            "FLOPs": ("fewer FLOPs", "compute", "arithmetic", "it does fewer FLOPs"),
            "launches": ("launch", "fewer launches", "kernel launches", "starts", "overhead"),
        },
        how="write down T_lower of each: what do both have in common, and what cancels?",
        praise="Both times are bytes over bandwidth, and the bandwidth cancels. It needs both: "
        "under the flat roof the ratio would be another.",
    ),
    "l03.slow-unit": Number(
        asks="GELU as nine kernels or as one, on a unit with a ridge of {ridge} FLOP/byte: how "
        "many times as fast is the one, with full overlap?",
        inputs=GELU
        | {
            "ridge": count(1, "the ridge", draw=(1, 1.25, 1.5)),
        },
        # In units of the bytes of one element over the bandwidth.
        formula=lambda ops, size, apart, fused, ridge: (
            size * apart / max(size * fused, ops / ridge)
        ),
        unit="times",
        slips=[
            Slip(
                "ratio of bytes",
                lambda apart, fused: apart / fused,
                "That is the ratio of bytes. It is the ratio of times only where memory binds "
                "both kernels: does it bind the fused one here?",
            ),
            Slip(
                "sum",
                lambda ops, size, apart, fused, ridge: size * apart / (size * fused + ops / ridge),
                "That adds the fused kernel's two times. With full overlap the longer one decides.",
            ),
            Slip(
                "both sums",
                lambda ops, size, apart, fused, ridge: (
                    (size * apart + ops / ridge) / (size * fused + ops / ridge)
                ),
                "That adds each kernel's two times. With full overlap the longer one decides.",
            ),
            Slip(
                "intensity of the fused kernel",
                lambda ops, size, fused: ops / (size * fused),
                "That is the intensity of the fused kernel. On which side of the ridge is it?",
            ),
            Slip(
                "intensity apart",
                lambda ops, size, apart: ops / (size * apart),
                "That is the intensity of the nine kernels. Compare the times.",
            ),
            Slip(
                "both compute-bound",
                lambda: 1,
                "As nine kernels it stays left of the ridge, and as one it does not: the times "
                "differ.",
            ),
            Slip(
                "kernels",
                lambda ops: ops,
                "That is the number of kernels. Compare the times: the longer of T_math and "
                "T_comms, for each.",
            ),
        ],
        exact=True,
        how="find which roof each kernel is under, then both times",
        praise="As nine kernels it waits for memory, as one for the arithmetic: less than the "
        "ratio of bytes.",
        holds=lambda ops, size, fused, ridge: ops / ridge > 1.2 * size * fused,
    ),
    "l03.residual-norm": Number(
        asks="r = x + y, then n = norm(r), both wanted: which fraction of the time does one kernel "
        "save over two, if memory binds?",
        inputs={
            "apart": count(
                5,
                "the arrays that cross as two kernels",
                instead=[
                    Instead(
                        "r not read back",
                        4,
                        "That lets the second kernel find r on the chip. Apart, it reads it from "
                        "memory.",
                    ),
                    Instead(
                        "r read twice",
                        6,
                        "That moves six arrays as two kernels. Addition: x, y, r. Norm: r, n.",
                    ),
                    Instead(
                        "addition alone",
                        3,
                        "That is the addition alone. The norm reads r and writes n.",
                    ),
                ],
                draw=(),
            ),
            "fused": count(
                4,
                "the arrays that cross as one kernel",
                instead=[
                    Instead(
                        "r not written",
                        3,
                        "That never writes r. It is wanted later, so it crosses once.",
                    ),
                    Instead(
                        "n alone",
                        2,
                        "That moves two arrays as one kernel. x and y are read, r and n written.",
                    ),
                ],
                draw=(),
            ),
        },
        formula=lambda apart, fused: 1 - fused / apart,
        slips=[
            Slip(
                "kernels",
                lambda: 0.5,
                "That takes half the kernels for half the time. Memory binds: which arrays cross?",
            ),
            Slip(
                "what is left",
                lambda apart, fused: fused / apart,
                "That is the fraction that is left. How much is saved?",
            ),
            Slip(
                "of the one kernel",
                lambda apart, fused: apart / fused - 1,
                "That is the saving as a fraction of the one kernel's time. Divide by the two's.",
            ),
            Slip(
                "times as fast",
                lambda apart, fused: apart / fused,
                "That is how many times as fast. Which fraction of the time is saved?",
            ),
            Slip(
                "percent",
                lambda apart, fused: 100 * (1 - fused / apart),
                "That is right in percent. A fraction is asked for; a % sign would do.",
            ),
            Slip(
                "arrays",
                lambda apart, fused: apart - fused,
                "That is how many arrays are saved. Which fraction of all is it?",
            ),
        ],
        half=["percent"],
        exact=True,
        how="write down what each kernel reads and writes",
        praise="Only one read is saved: what others need must still be written.",
    ),
    "l03.floor-bytes": Number(
        asks="A kernel takes {floor} µs on the {chip}, however few bytes it moves. How many bytes "
        "could the memory move in that time?",
        inputs={
            "floor": count(
                4,
                "the floor",
                "µs",
                instead=[
                    Instead("addition", 1, "That takes the addition's floor. The norm's is 4 µs."),
                    Instead("activation", 6, "That takes the activation's. The norm's is 4 µs."),
                ],
            ),
            "bandwidth": bandwidth(H100),
            "peak": peak(H100),
        },
        formula=lambda floor, bandwidth: 1e-6 * floor * bandwidth,
        unit="bytes",
        slips=[
            Slip(
                "FLOPs",
                lambda floor, peak: 1e-6 * floor * peak,
                "That multiplies with the peak: FLOPs. Bytes are asked for.",
            ),
            Slip(
                "bandwidth over time",
                lambda floor, bandwidth: bandwidth / (1e-6 * floor),
                "That divides the bandwidth by the time. byte/s times s are bytes.",
            ),
            Slip(
                "time over bandwidth",
                lambda floor, bandwidth: 1e-6 * floor / bandwidth,
                "That divides the time by the bandwidth. byte/s times s are bytes.",
            ),
        ],
        how="byte/s times s",
        praise="A kernel that moves less in that time waits for something else.",
    ),
    "l03.one-token": Number(
        asks="x + y of {width} numbers took {measured} µs on the {chip}. How many times as long is "
        "that as its bytes need from memory?",
        inputs={
            "measured": count(1, "the measured time", "µs", draw=(1, 2)),
            "width": count(4096, "the numbers of a row", draw=(1, 2)),
            "arrays": count(3, "the arrays that cross", draw=()),
            "size": itemsize("fp16", "an element"),
            "bandwidth": bandwidth(H100),
        },
        formula=lambda measured, width, arrays, size, bandwidth: (
            1e-6 * measured / (arrays * size * width / bandwidth)
        ),
        unit="times",
        how="the measured time over bytes over bandwidth",
    ),
    "l03.nine-floors": Number(
        asks="Each kernel takes {floor} µs, however little it moves. How many times as fast is "
        "GELU as one kernel as it is as {kernels}?",
        inputs={
            "floor": count(1, "the floor", "µs", draw=(1, 2, 4)),
            "kernels": count(
                KERNELS,
                "the kernels",
                instead=[
                    Instead(
                        "no gain",
                        1,
                        "That says fusing saves nothing. Each of the nine kernels takes its time.",
                    ),
                    Instead(
                        "kernels saved",
                        KERNELS - 1,
                        "That is how many kernels fusing saves. Compare nine of them with one.",
                    ),
                ],
                draw=(),
            ),
        },
        formula=lambda floor, kernels: kernels * floor / floor,
        unit="times",
        slips=[
            Slip(
                "bytes",
                lambda: (READS + KERNELS) / 2,
                "That is the ratio of bytes. At one token no kernel waits for its bytes.",
            ),
            Slip(
                "slow unit",
                lambda: (READS + KERNELS) * 2 / KERNELS,
                "That is the answer for the slow vector unit. Here no kernel waits for its FLOPs.",
                here=True,
            ),
        ],
        exact=True,
        how="how long do nine kernels take, and how long does one?",
        praise="Small kernels gain by the number of launches, large ones by the ratio of bytes.",
    ),
}
