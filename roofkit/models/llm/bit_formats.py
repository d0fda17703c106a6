"""Choose formats by their number of bits, and list what every choice means as plain data."""

import itertools

from roofkit._inputs import pick_16_bit
from roofkit.models.llm.llm_viewer import CONVENTION
from roofkit.models.llm.pass_counter import choose_dtypes
from roofkit.models.llm.precision import Precision, settle_precision

# The formats of each number of bits. A chip uses the one with the higher peak.
DTYPES = {16: ("bf16", "fp16"), 8: ("fp8", "int8"), 4: ("fp4", "int4")}
# The numbers of bits, or the format that the checkpoint is published in.
STORED = (*DTYPES, "published")
CONVENTIONS = ("roofkit", CONVENTION)
SCALES = {4: 128, "published": None}  # weights that share a scale
PLACES = ("linear", "routed", "attends", "head")


def pick_dtypes(peaks):
    """Return the dtype for 16, 8 and 4 bits: the one with the higher peak, or bf16 before fp16.

    >>> pick_dtypes({"fp16": 65e12, "int8": 130e12})
    {16: 'fp16', 8: 'int8', 4: 'fp4'}
    """
    fastest = {
        bits: max(names, key=lambda name: peaks.get(name, 0)) for bits, names in DTYPES.items()
    }
    return fastest | {16: pick_16_bit(peaks)}


def make_precision(weights, activations, kv, dtypes):
    """Return the Precision with these numbers of bits, in the formats of ``dtypes``.

    Weights and activations may also be "published". Weights of 4 bits share a scale of 16 bits.

    >>> make_precision(4, 16, 8, {16: "bf16", 8: "fp8", 4: "int4"}).scales
    128
    """
    stored, scales = dtypes.get(weights), SCALES.get(weights, 0)
    return Precision(weights=stored, experts=stored, activations=dtypes.get(activations),
                     kv=dtypes[kv], scales=scales, expert_scales=scales)  # fmt: skip


def list_formats(model):
    """Return the Widths and the peaks of each choice of formats, for a page without Python.

    Keys are a convention and the bits of weights, activations and KV cache. A peak has its number
    of bits as name or, in published formats, the name of the format.

    >>> from roofkit.models.llm.configs import llm
    >>> list_formats(llm("Llama-2-7B"))["roofkit 4 16 8"]["peaks"]["linear"]
    '16'
    """
    formats, dtypes = {}, {bits: names[0] for bits, names in DTYPES.items()}
    for convention, *bits in itertools.product(CONVENTIONS, STORED, STORED, DTYPES):
        published = bits[0] == "published"
        if published != (bits[1] == "published") or (published and not model.stored):
            continue
        viewer = convention == CONVENTION
        precision = make_precision(*bits, dtypes)
        settled = settle_precision(precision, model, {"bf16"}, one_format=viewer)
        names = {dtype: f"{n}" for n, dtype in dtypes.items() if n == 16 or not published}
        used = dict(zip(PLACES, choose_dtypes(settled, viewer), strict=True))
        formats[" ".join(map(str, (convention, *bits)))] = {
            "widths": settled.widths._asdict(),
            "peaks": {place: names.get(dtype, dtype) for place, dtype in used.items()},
        }
    return formats
