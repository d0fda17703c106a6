"""A served language model: its layers on the roofline, a table of them, and the totals."""

import html
from dataclasses import replace

from roofkit._inputs import check_number
from roofkit.hardware import chip as find_chip
from roofkit.hardware import chips as known_chips
from roofkit.models.llm import bit_formats, page_data
from roofkit.models.llm.configs import llm, llms
from roofkit.models.llm.llm_viewer import CONVENTION
from roofkit.models.llm.model import LLM
from roofkit.models.llm.split import Split
from rooflab import plot
from rooflab.explore.frame import HERE, Explorer, merge_texts, read_javascript
from rooflab.machine import calibrate

# Numbers of chips that share every layer, and the ranges of sliders as exponents of two.
CHIPS = (1, 2, 4, 8, 16, 32, 64)
REACH = {"batch": (0, 11), "prompt": (4, 17), "answer": (1, 13)}
CHOICES = {
    "convention": bit_formats.CONVENTIONS, "weights": bit_formats.STORED,
    "activations": bit_formats.STORED, "kv": tuple(bit_formats.DTYPES),
    "attention": ("flash", "unfused"), "phase": ("prefill", "decode"),
}  # fmt: skip
FORMATS = ("weights", "activations", "kv")


def model(model="Llama-3.1-8B", chip="H100", n=1, *, batch=16, prompt=2048, answer=256,
          weights=None, activations=16, kv=16, attention=None, convention="roofkit", peak=0,
          bandwidth=0, phase="decode", goal=0, predict=False, models=None, chips=None,
          text=None):  # fmt: skip
    """Show a served language model: its layers on the roofline, a table of them, and the totals.

    Lists select the model, the chip, the number of chips that share every layer, the bits of a
    number, the attention and the counting convention. Sliders set the batch, the lengths, and the
    share of its roof that each layer reaches in the picture. At 100%, as in the attributes, times
    are lower bounds: small kernels are fused into matmuls, layers run one after another, and
    launches take no time.

    Parameters
    ----------
    model, chip : LLM and Chip, or their names
        The initial choices. All other arguments except the lists are initial values, too.
    n : chips that share every layer, a power of two
    batch, prompt, answer : whole numbers
        Sequences, tokens per prompt, and generated tokens per answer (at least 2).
    weights, activations, kv : 16, 8 or 4
        Bits of a number, in the chip's fastest format of this width; 128 weights of 4 bits share a
        scale. ``weights="published"``, the default for a quantised checkpoint, uses its formats of
        weights and activations.
    attention : "flash" or "unfused"
        Whether the scores stay on the chip, or are written to memory and read again.
    convention : "roofkit" or "llm-viewer"
        How operations are counted. LLM-Viewer's convention writes the scores out, on one chip.
    peak, bandwidth : numbers, optional
        A peak for 16 bits in FLOP/s and a bandwidth in B/s that replace the chip's. Peaks of other
        formats grow in proportion. 0 means the chip's own.
    phase : "prefill" or "decode"
    goal : number, optional
        Tokens a second that each user wants; the figure says whether it is within reach.
    predict : bool
        Whether to predict times in 16 bits on the chips whose kernels were timed, beside the
        bounds. Takes some seconds.
    models, chips : lists, optional
        The models and chips to choose from; by default, all in the tables. Models that the figure
        does not support and chips without a confirmed 16-bit peak are left out.
    text : mapping, optional
        Replacements for entries of ``explore/words/en.toml``.

    Returns a ModelExplorer for a notebook to display. Raises ValueError for a model that cannot be
    served this way (with the reason), a choice not listed here, and an unknown text.

    >>> live = model("Llama-3.1-8B", "H100", batch=64)
    >>> live.decode["attention"].bound, f"{live.generation.tokens_per_second:.0f} tokens/s"
    ('memory', '3659 tokens/s')
    """
    model, chip = model if isinstance(model, LLM) else llm(model), find_chip(chip)
    weights = weights or ("published" if model.stored else 16)
    activations = "published" if weights == "published" else activations
    attention = attention or ("flash" if convention == "roofkit" else "unfused")
    models = models or [row["model"] for row in llms().rows]
    models = [item if isinstance(item, LLM) else llm(item) for item in models]
    chips = [find_chip(item) for item in chips or known_chips()]
    chosen = {
        "weights": weights, "activations": activations, "kv": kv, "attention": attention,
        "convention": convention, "phase": phase,
    }  # fmt: skip
    for name, value in chosen.items():
        if value not in CHOICES[name]:
            raise ValueError(
                f"{name}={value!r} must be one of {', '.join(map(str, CHOICES[name]))}"
            )
    lengths = {"batch": batch, "prompt": prompt, "answer": answer}
    for name, value in lengths.items():
        least = 2 if name == "answer" else 1
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    if n not in CHIPS:
        raise ValueError(f"n={n!r} must be one of {', '.join(map(str, CHIPS))}")
    if activations == "published" != weights:
        raise ValueError('activations="published" needs weights="published"')
    if weights == "published" and not model.stored:
        raise ValueError(f"{model.name} is published in 16 bits; use weights=16")
    if convention == CONVENTION and (n, attention) != (1, "unfused"):
        raise ValueError(f'convention={CONVENTION!r} needs n=1 and attention="unfused"')
    figures = {
        name: check_number(value, name, above=False)
        for name, value in {"peak": peak, "bandwidth": bandwidth, "goal": goal}.items()
    }
    state = {"model": model.name, "chip": chip.name, "n": n, **chosen, **lengths, **figures}
    return ModelExplorer([*models, model], [*chips, chip], state, merge_texts(text), predict)


class ModelExplorer(Explorer):
    """Lists and sliders above a served model. ``deployment`` and the other attributes follow them.

    ``reasons_left_out`` maps each model and chip that is not in the lists to the reason.
    """

    _esm = read_javascript("marks.js", "loglog.js", "served.js", "passes.js", "model.js")
    _css = Explorer._css + (HERE / "model.css").read_text(encoding="utf-8")

    def __init__(self, models, chips, state, text, predict=False):
        self.reasons_left_out = {}
        describe_model, describe_chip = page_data.describe_model, page_data.describe_chip
        self._models, of_models = self._list_offers(models, describe_model, state["model"])
        self._chips, of_chips = self._list_offers(chips, describe_chip, state["chip"])
        self._serve(state)  # raises if the initial choices cannot be served
        data = {
            "models": of_models, "chips": of_chips, "formats": page_data.describe_formats(),
            "stops": {name: _list_stops(name, state[name]) for name in REACH},
            "choices": {
                "model": list(of_models), "chip": list(of_chips), "n": CHIPS,
                **{name: values for name, values in CHOICES.items() if name != "phase"},
            },
        }  # fmt: skip
        if predict:
            data["predicted"] = page_data.predict_ratios(self._models, self._chips, calibrate)
        super().__init__(data=data, state=state, text=text)

    def _list_offers(self, items, read_data, start):
        """Return the models or chips to choose from, by name, and their data."""
        offers, data = {}, {}
        for item in items:
            try:
                data[item.name], offers[item.name] = read_data(item, CHIPS), item
            except ValueError as error:
                if item.name == start:
                    raise
                self.reasons_left_out[item.name] = str(error)
        return offers, data

    def _serve(self, state):
        chip = self._chips[state["chip"]]
        dtypes = bit_formats.pick_dtypes(page_data.list_peaks(chip))
        if peak := state["peak"]:
            times = peak / chip.peaks[dtypes[16]]
            chip = replace(chip, peaks={name: times * own for name, own in chip.peaks.items()})
        if state["bandwidth"]:
            chip = replace(chip, bandwidth=state["bandwidth"])
        return self._models[state["model"]].on(
            chip, split=Split(tensor=state["n"]), attention=state["attention"],
            precision=bit_formats.make_precision(*(state[name] for name in FORMATS), dtypes),
            convention=state["convention"],
        )  # fmt: skip

    @property
    def deployment(self):
        return self._serve(self.state)

    @property
    def prefill(self):
        """The LayerTable of the prompts."""
        return self.deployment.prefill(self.state["batch"], self.state["prompt"])

    @property
    def decode(self):
        """The LayerTable of the decode step in the middle of the answer."""
        return self.deployment.decode(self.state["batch"], self.context)

    @property
    def context(self):
        """Tokens per sequence in the cache before this step."""
        return self.state["prompt"] + self.state["answer"] // 2 - 1

    @property
    def generation(self):
        """The Generation of the answers."""
        return self.deployment.generate(
            *(self.state[name] for name in ("batch", "prompt", "answer"))
        )

    @property
    def memory(self):
        """The memory of each chip at the end, as a Memory."""
        return self.generation.memory

    def __repr__(self):
        return f"ModelExplorer({', '.join(f'{k}={v!r}' for k, v in self.state.items())})"

    def _draw(self):
        return plot.layers({self.text[name]: getattr(self, name) for name in CHOICES["phase"]})

    def _write_fallback(self):
        tables = (getattr(self, name)._repr_html_() for name in CHOICES["phase"])
        totals = html.escape(repr(self.generation))
        return f"{super()._write_fallback()}<pre>{totals}</pre>{''.join(tables)}"


def _list_stops(name, value):
    first, last = REACH[name]
    return sorted({2**exponent for exponent in range(first, last + 1)} | {value})
