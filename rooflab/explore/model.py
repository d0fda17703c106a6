"""A language model as it is served: its layers on the roof, their table, and the totals."""

import functools

import traitlets

from roofkit._inputs import pick_16_bit
from roofkit.hardware import chip as find_chip
from roofkit.hardware import chips as known_chips
from roofkit.models.llm.chip_rates import UNLIMITED
from roofkit.models.llm.configs import llm, llms
from roofkit.models.llm.model import LLM
from roofkit.models.llm.picture_terms import picture_terms
from roofkit.models.llm.precision import Precision, settle_precision
from roofkit.models.llm.split import Split
from rooflab import plot
from rooflab.explore.frame import HERE, Explorer, Picture, merge_texts, read_javascript

# Chips that share every layer, and where the sliders stop beside the value that they start at.
CHIPS = (1, 2, 4, 8, 16, 32, 64)
REACH = {"batch": (0, 11), "prompt": (4, 17), "answer": (1, 13)}
# Weights and what they are multiplied by; "half" stands for the 16-bit format of the chip.
FORMATS = {
    "16-bit": {"weights": "half", "activations": "half"},
    "published": {},
    "fp8": {"weights": "fp8", "activations": "fp8"},
    "W8A8": {"weights": "int8", "activations": "int8"},
    "W4A16": {"weights": "int4", "activations": "half", "scales": 128},
    "W4A8": {"weights": "int4", "activations": "int8", "scales": 128},
}
KV_FORMATS = {"16-bit": "half", "fp8": "fp8"}
ATTENTIONS = ("flash", "unfused")
PHASES = ("prefill", "decode")


def model(model="Llama-3.1-8B", chip="H100", n=1, *, batch=16, prompt=2048, answer=256,
          precision=None, kv="16-bit", attention="flash", phase="decode", models=None, chips=None,
          text=None):  # fmt: skip
    """The layers of a served language model on the roof, beside their table and the totals.

    Lists choose the model, the chip, how many of these share every layer, the formats and the
    attention; sliders double and halve the batch and the lengths. Everything is at best: norms and
    the like ride along with matmuls, layers follow one another, and no launch takes time.

    Parameters
    ----------
    model, chip : LLM and Chip, or their names
        What the picture starts with; so are all that follow, but for the lists.
    n : chips that share every layer, a power of two
    batch, prompt, answer : whole numbers
        Sequences, tokens of each prompt, and tokens that are generated for each, at least 2.
    precision : "16-bit", "published", "fp8", "W8A8", "W4A16" or "W4A8"
        Of the weights, and of what they are multiplied by: as the model is published where its
        checkpoint is quantised, and 16 bits otherwise, unless given.
    kv : "16-bit" or "fp8"
    attention : "flash" or "unfused"
        Whether the scores stay on the chip, or are written and read again.
    phase : "prefill" or "decode"
    models, chips : lists, optional
        What there is to choose from: all that the tables have, unless given. A model whose count
        has another form, and a chip without a confirmed 16-bit peak, are left out.
    text : mapping, optional
        Replacements for entries of ``explore/words/en.toml``.

    Returns a ModelExplorer, to end a notebook cell on. Raises ValueError for what cannot be served
    so, with the reason, for another choice than these, and for an unknown text.

    >>> live = model("Llama-3.1-8B", "H100", batch=64)
    >>> live.decode["attention"].bound, f"{live.run.tokens_per_second:.0f} tokens/s"
    ('memory', '3659 tokens/s')
    """
    model, chip = model if isinstance(model, LLM) else llm(model), find_chip(chip)
    precision = precision or ("published" if model.stored else "16-bit")
    listed = [
        each if isinstance(each, LLM) else llm(each) for each in models or _model_names(llms())
    ]
    offered = [find_chip(each) for each in chips or known_chips()]
    chosen = {"precision": precision, "kv": kv, "attention": attention, "phase": phase}
    known = {"precision": FORMATS, "kv": KV_FORMATS, "attention": ATTENTIONS, "phase": PHASES}
    for name, value in chosen.items():
        if value not in known[name]:
            raise ValueError(f"{name}={value!r} must be one of {', '.join(known[name])}")
    lengths = {"batch": batch, "prompt": prompt, "answer": answer}
    for name, value in lengths.items():
        least = 2 if name == "answer" else 1
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    if n not in CHIPS:
        raise ValueError(f"n={n!r} must be one of {', '.join(map(str, CHIPS))}")
    if precision == "published" and not model.stored:
        raise ValueError(f'{model.name} is published in 16 bits: say precision="16-bit"')
    state = {"model": model.name, "chip": chip.name, "n": n, **chosen, **lengths}
    return ModelExplorer([*listed, model], [*offered, chip], state, merge_texts(text))


class ModelExplorer(Explorer):
    """Lists and sliders over a served model; ``served`` and what follows are as these stand.

    ``left_out`` says by name why a model or a chip is not in the lists.
    """

    def __init__(self, models, chips, state, text):
        self.left_out = {}
        self._models, of_models = self._list_offers(models, _model_data, state["model"])
        self._chips, of_chips = self._list_offers(chips, _chip_data, state["chip"])
        self._serve(state)  # raises for what cannot be served
        data = {
            "models": of_models, "chips": of_chips,
            "stops": {name: _list_stops(name, state[name]) for name in REACH},
            "choices": {
                "model": list(of_models), "chip": list(of_chips), "n": CHIPS,
                "precision": list(FORMATS), "kv": list(KV_FORMATS), "attention": ATTENTIONS,
            },
        }  # fmt: skip
        self._picture = ModelPicture(data=data, state=state, text=text)
        super().__init__(self._picture, {})
        self.layout.max_width = "760px"

    def _list_offers(self, listed, data_of, start):
        """What there is to choose from by name, and the data of each."""
        offered, data = {}, {}
        for each in listed:
            try:
                data[each.name], offered[each.name] = data_of(each), each
            except ValueError as error:
                if each.name == start:
                    raise
                self.left_out[each.name] = str(error)
        return offered, data

    def _serve(self, state):
        chip = self._chips[state["chip"]]
        return self._models[state["model"]].on(
            chip, split=Split(tensor=state["n"]), attention=state["attention"],
            precision=_make_precision(state["precision"], state["kv"], pick_16_bit(chip.peaks)),
        )  # fmt: skip

    @property
    def state(self):
        """Where the lists and sliders stand, by name."""
        return self._picture.state

    @property
    def deployment(self):
        """The Deployment."""
        return self._serve(self.state)

    @property
    def prefill(self):
        """The LayerTable of the prompts."""
        return self.deployment.prefill(self.state["batch"], self.state["prompt"])

    @property
    def decode(self):
        """The LayerTable of the step in the middle of the answer."""
        return self.deployment.decode(self.state["batch"], self.context)

    @property
    def context(self):
        """Tokens of each sequence that are cached when this step comes."""
        return self.state["prompt"] + self.state["answer"] // 2 - 1

    @property
    def run(self):
        """The Generation of the answers."""
        return self.deployment.generate(
            *(self.state[name] for name in ("batch", "prompt", "answer"))
        )

    @property
    def memory(self):
        """What each chip must hold at the end, as a Memory."""
        return self.run.memory

    def __repr__(self):
        return f"ModelExplorer({', '.join(f'{k}={v!r}' for k, v in self.state.items())})"

    def _draw(self):
        return plot.layers({self.text[name]: getattr(self, name) for name in PHASES})


class ModelPicture(Picture):
    _esm = read_javascript("marks.js", "loglog.js", "passes.js", "model.js")
    _css = Picture._css + (HERE / "model.css").read_text(encoding="utf-8")

    data = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)


def _model_names(table):
    return [row["model"] for row in table.rows]


def _list_stops(name, value):
    first, last = REACH[name]
    return sorted({2**exponent for exponent in range(first, last + 1)} | {value})


def _make_precision(name, kv, usual):
    """The Precision of a choice of formats, whose 16-bit format is the usual one of the chip."""
    given = {
        each: usual if dtype == "half" else dtype
        for each, dtype in {**FORMATS[name], "kv": KV_FORMATS[kv]}.items()
    }
    return Precision(**given, experts=given.get("weights"))


@functools.cache
def _model_data(model):
    """What a page needs to count a model's passes in each of the formats."""
    splits = {}
    for n in CHIPS:
        try:
            splits[n] = picture_terms(model, n)
        except ValueError:
            if n == 1:
                raise
    formats = {}
    for name in FORMATS:
        for kv in KV_FORMATS if FORMATS[name] or model.stored else ():
            found = settle_precision(_make_precision(name, kv, "bf16"), model, {"bf16"})
            peaks = ("linear", found.linear), ("routed", found.routed), ("attends", found.attention)
            formats[f"{name} {kv}"] = {
                "widths": found.widths._asdict(),
                "peaks": {
                    place: "half" if dtype == "bf16" else dtype
                    for place, dtype in (*peaks, ("head", found.head))
                },
            }
    return {
        "context": model.context, "window": model.window, "windowed": model.window_layers,
        "layers": model.layers, "missed": 1 - model.experts_per_token / max(model.experts, 1),
        "hidden": model.hidden, "formats": formats, "splits": splits,
    }  # fmt: skip


@functools.cache
def _chip_data(chip):
    """What a page needs of a chip."""
    peaks = {
        name: float(peak) for name, peak in chip.peaks.items() if getattr(peak, "confirmed", True)
    }
    if not pick_16_bit(peaks):
        raise ValueError(f"{chip.name} has no confirmed peak for 16-bit matrices")
    if not getattr(chip.bandwidth, "confirmed", True):
        raise ValueError(f"the bandwidth of {chip.name} is not confirmed")
    tiny = LLM("tiny", hidden=64, layers=1, heads=64, vocabulary=64, mlp=64)
    links = {1: {}}
    for n in CHIPS[1:]:
        try:
            rates = tiny.on(chip, split=Split(tensor=n))._passes.rates
        except ValueError:  # so many are not joined, or the table does not say how
            continue
        links[n] = {
            "all-gather": [rates.gather_share, rates.gather],
            "all-reduce": [rates.reduce_share, rates.reduce],
        }
    return {
        "peaks": {**peaks, "half": peaks[pick_16_bit(peaks)]}, "bandwidth": float(chip.bandwidth),
        "capacity": chip.usable and float(chip.usable),
        "on_chip": float(chip.on_chip or UNLIMITED), "links": links,
    }  # fmt: skip
