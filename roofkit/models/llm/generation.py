"""A prompt and the tokens after it: how long a whole generation takes."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from roofkit._tables import wrap_lines
from roofkit._units import format_quantity
from roofkit.models.llm.lengths import format_length
from roofkit.roofline import larger

# Decode steps from which all the steps of a generation are predicted.
STEPS_SAMPLED = 4


@dataclass(frozen=True, repr=False)
class Generation:
    """A whole generation: the seconds of its two phases.

    ``time_to_first_token`` is the prefill, ``decoding`` the ``steps`` decode steps after it. With a
    calibration there is a ``prediction`` beside the time, and one of each phase.

    Made by ``Deployment.generate``, whose ``batch``, ``prompt`` and ``output`` it keeps.

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
        sizes = f"batch {format_length(self.batch)}, prompt {format_length(self.prompt)}, output {format_length(self.output)}"
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
        """What each chip must hold at the end, as a Memory."""
        return self.deployment.memory(self.batch, self.prompt, self.output)

    @property
    def time(self):
        """Seconds from the prompt to the last token."""
        return self.time_to_first_token + self.decoding

    @property
    def prediction(self):
        """``time`` as the calibration predicts it: a Prediction, both phases' errors together.

        Raises ValueError where the model is served without one.
        """
        return self._sum_predictions([self.predicted_first_token, self.predicted_decoding])

    @property
    def predicted_first_token(self):
        """The time to the first token as the calibration predicts it.

        Parts of the batch, as many as there are stages, follow one another through a pipeline.
        """
        served = self.deployment
        parts = self.batch / served._stage_batch(self.batch)
        passes = (parts + served.split.pipeline - 1) / served.split.pipeline
        return passes * served.prefill(self.batch, self.prompt).prediction

    @property
    def predicted_decoding(self):
        """``decoding`` as the calibration predicts it, from a few steps along the way.

        Each of these stands for as many others, which are taken to err as it does.
        """
        last = larger(self.steps - 1, 0.0)
        contexts = (
            self.prompt + last * (place + 0.5) / STEPS_SAMPLED for place in range(STEPS_SAMPLED)
        )
        return self._sum_predictions(
            self.steps / STEPS_SAMPLED * self.deployment.decode(self.batch, context).prediction
            for context in contexts
        )

    def _sum_predictions(self, predictions):
        """The sum of predictions that all err alike."""
        alike = [replace(each, correlation=1.0) for each in predictions]
        return self.deployment.calibration.total(alike)

    @property
    def time_per_token(self):
        """Seconds of an average decode step; NaN where there is none."""
        if np.ndim(self.steps):
            with np.errstate(invalid="ignore"):
                return self.decoding / self.steps
        return self.decoding / self.steps if self.steps else math.nan

    @property
    def tokens_per_second(self):
        """Output tokens of the whole batch over the whole time, of all replicas."""
        return self.deployment.split.data * self.batch * self.output / self.time
