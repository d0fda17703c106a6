"""The time of a whole generation: a prompt and the tokens after it."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from roofkit._tables import wrap_lines
from roofkit._units import format_quantity
from roofkit.models.llm.lengths import format_length
from roofkit.roofline import larger

# Number of decode steps from which all steps of a generation are predicted.
STEPS_SAMPLED = 4


@dataclass(frozen=True, repr=False)
class Generation:
    """The times of a generation and its two phases, created by ``Deployment.generate``.

    ``time_to_first_token`` is the prefill time, and ``decoding`` the time of ``steps`` decode
    steps. With a calibration, there is also a ``prediction`` of the whole and of each phase.

    >>> import roofkit as rk
    >>> from rooflab.machine import calibrate
    >>> a100 = rk.chip("A100 80GB SXM")
    >>> served = rk.llm("Llama-2-7B").on(a100, calibration=calibrate(a100))
    >>> run = served.generate(output=512)
    >>> f"{run.time:.2f} s at best, {run.prediction.seconds:.2f} s predicted"
    '3.70 s at best, 5.82 s predicted'
    """

    deployment: Any
    batch: Any
    prompt: Any
    output: Any
    time_to_first_token: Any
    decoding: Any
    steps: Any

    def __repr__(self):
        lengths = {"batch": self.batch, "prompt": self.prompt, "output": self.output}
        sizes = ", ".join(f"{name} {format_length(value)}" for name, value in lengths.items())
        times = {"to the first token": self.time_to_first_token, "decoding": self.decoding}
        parts = ", ".join(
            f"{format_quantity(seconds, 's')} {name}" for name, seconds in times.items()
        )
        return wrap_lines(
            f"Generation({sizes}: {parts}, {format_length(self.steps)} steps, "
            f"{format_quantity(self.tokens_per_second, 'tokens/s')})"
        )

    @property
    def memory(self):
        """The Memory that each chip needs at the end of the generation."""
        return self.deployment.memory(self.batch, self.prompt, self.output)

    @property
    def time(self):
        """Seconds from the prompt to the last token."""
        return self.time_to_first_token + self.decoding

    @property
    def prediction(self):
        """The predicted ``time``, as a Prediction; the errors of both phases add up.

        The interval is that of published runs where the chip has some. Raises ValueError if the
        deployment has no calibration.
        """
        phases = [self.predicted_first_token, self.predicted_decoding]
        return self.judge(self._sum_predictions(phases), self.time)

    @property
    def predicted_first_token(self):
        """The predicted time to the first token, without coverage: programs take longer.

        With a pipeline, the parts of the batch pass through the stages one after another.
        """
        served = self.deployment
        parts = self.batch / served._stage_batch(self.batch)
        passes = (parts + served.split.pipeline - 1) / served.split.pipeline
        prediction = passes * served.prefill(self.batch, self.prompt).prediction
        return replace(prediction, coverage=None, low=self.time_to_first_token)

    @property
    def predicted_decoding(self):
        """The predicted ``decoding`` time, from a few equally spaced steps.

        Each of them represents the same number of steps, which are assumed to have the same error.
        """
        last = larger(self.steps - 1, 0.0)
        contexts = (
            self.prompt + last * (place + 0.5) / STEPS_SAMPLED for place in range(STEPS_SAMPLED)
        )
        prediction = self._sum_predictions(
            self.steps / STEPS_SAMPLED * self.deployment.decode(self.batch, context).prediction
            for context in contexts
        )
        return self.judge(prediction, self.decoding)

    def judge(self, prediction, least):
        """Give it the interval of published runs: dense, fused, on one node, in up to 16 bits."""
        served, model = self.deployment, self.deployment.model
        dense = not (model.experts or model.latent or model.window)
        narrow = max(served.precision.widths) <= 2 and served.split.pipeline == 1
        one_node = getattr(served.links.tensor, "card", None) is None
        usual = served.fused is not False and served.attention == "flash"
        if dense and narrow and one_node and usual and np.all(self.memory.fits):
            return served.calibration.judge_run(prediction, least)
        return replace(prediction, coverage=None, low=least)

    def _sum_predictions(self, predictions):
        """Return the sum of predictions whose errors are fully correlated."""
        correlated = [replace(prediction, correlation=1.0) for prediction in predictions]
        return self.deployment.calibration.total(correlated)

    @property
    def time_per_token(self):
        """Average seconds per decode step; NaN if there are no steps."""
        if np.ndim(self.steps):
            with np.errstate(invalid="ignore"):
                return self.decoding / self.steps
        return self.decoding / self.steps if self.steps else math.nan

    @property
    def tokens_per_second(self):
        """Output tokens of all replicas divided by the total time."""
        return self.deployment.split.data * self.batch * self.output / self.time
