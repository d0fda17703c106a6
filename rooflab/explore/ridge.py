"""The ridge as squares: what a chip could do while one byte arrives, and what a model does."""

from roofkit.models.llm import bit_formats
from rooflab import plot
from rooflab.explore.frame import HERE, Explorer, read_javascript
from rooflab.explore.model import ModelExplorer
from rooflab.explore.model import model as explore_model

MODELS = ("Llama-3.2-1B", "Llama-3.1-8B", "Llama-3.1-70B", "Qwen3-32B", "Mistral-7B-v0.1")
CHIPS = ("H100", "A100 80GB SXM", "H200", "B200", "MI300X", "TPU v5e", "TPU v6e", "L40S",
         "RTX 4090")  # fmt: skip


def ridge(model="Llama-3.1-8B", chip="H100", users=1, *, weights=16, prompt=2048, phase="decode",
          models=MODELS, chips=CHIPS, text=None):  # fmt: skip
    """Show the FLOPs that a chip could do while a byte arrives as squares, and light those in use.

    Lists select the model, the chip and the bits of a weight, a slider the users. A decode step
    uses a weight for one token of each user, a prefill for all ``prompt`` tokens of each. The
    squares are the chip's ridge, so they are full where the matmuls are compute-bound. Times are
    lower bounds. Other arguments and errors are those of ``model()``; models with experts are an
    error, too, because each of their weights sees only a part of the tokens.

    Returns a RidgeExplorer for a notebook to display.

    >>> live = ridge(users=16)
    >>> f"{live.squares:.0f}", live.flops_per_byte
    ('295', 16.0)
    """
    live = explore_model(model, chip, batch=users, prompt=prompt, answer=2, weights=weights,
                         phase=phase, models=models, chips=chips, text=text)  # fmt: skip
    for name, each in live._models.items():
        if each.experts:
            raise ValueError(
                f"{name} has experts, each of which sees only a part of the tokens, so the FLOPs "
                "for a byte differ between its weights; use model() instead"
            )
    return RidgeExplorer(live)


class RidgeExplorer(ModelExplorer):
    """Lists and a slider above the squares of a chip; attributes follow them."""

    _esm = read_javascript("served.js", "passes.js", "ridge.js")
    _css = ModelExplorer._css + (HERE / "ridge.css").read_text(encoding="utf-8")

    def __init__(self, start):
        self._models, self._chips = start._models, start._chips
        self.reasons_left_out, data = start.reasons_left_out, start.data
        one_chip = {
            name: of | {"splits": {"roofkit": {1: of["splits"]["roofkit"][1]}}}
            for name, of in data["models"].items()
        }
        choices = {name: data["choices"][name] for name in ("model", "chip")}
        choices["weights"] = tuple(bit_formats.DTYPES)
        data = data | {"models": one_chip, "choices": choices}
        data["stops"] = {"batch": data["stops"]["batch"]}
        Explorer.__init__(self, data=data, state=start.state, text=start.text)

    _write_fallback = Explorer._write_fallback  # without the tables of a model

    @property
    def squares(self):
        """FLOPs that the chip could do while one byte arrives: the ridge of its matmuls."""
        served = self.deployment
        return served.chip.roofline(served.precision.linear).ridge

    @property
    def flops_per_byte(self):
        """FLOPs for each byte of weights that arrives."""
        tokens = self.state["batch"] * (
            self.state["prompt"] if self.state["phase"] == "prefill" else 1
        )
        return 2 * tokens / self.deployment.precision.widths.weights

    def _draw(self):
        users, used = self.state["batch"], f"{self.flops_per_byte:,.4g}"
        who = self.text["one_user" if users == 1 else "many_users"].format(batch=users)
        title = self.text[f"{self.state['phase']}_use"].format(users=who, used=used)
        return plot.ridge(
            self.squares, {title: self.flops_per_byte}, chip=self.deployment.chip.name
        )
