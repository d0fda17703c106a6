"""A prompt and the tokens after it: how long a whole generation takes."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from roofkit._tables import in_lines
from roofkit._units import quantity
from roofkit.models.llm.lengths import said
from roofkit.roofline import larger

# Decode steps from which all the steps of a generation are predicted.
SAMPLED = 4


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

    served: Any
    batch: Any
    prompt: Any
    output: Any
    time_to_first_token: Any
    decoding: Any
    steps: Any

    def __repr__(self):
        sizes = f"batch {said(self.batch)}, prompt {said(self.prompt)}, output {said(self.output)}"
        times = {"to the first token": self.time_to_first_token, "decoding": self.decoding}
        parts = ", ".join(f"{quantity(seconds, 's')} {name}" for name, seconds in times.items())
        return in_lines(
            f"Generation({sizes}: {parts}, {said(self.steps)} steps, "
            f"{quantity(self.tokens_per_second, 'tokens/s')})"
        )

    @property
    def memory(self):
        """What each chip must hold at the end, as a Memory."""
        return self.served.memory(self.batch, self.prompt, self.output)

    @property
    def time(self):
        """Seconds from the prompt to the last token."""
        return self.time_to_first_token + self.decoding

    @property
    def prediction(self):
        """``time`` as the calibration predicts it: a Prediction, both phases' errors together.

        Raises ValueError where the model is served without one.
        """
        return self._together([self.predicted_first_token, self.predicted_decoding])

    @property
    def predicted_first_token(self):
        """The time to the first token as the calibration predicts it.

        Parts of the batch, as many as there are stages, follow one another through a pipeline.
        """
        served = self.served
        parts = self.batch / served._part(self.batch)
        passes = (parts + served.split.pipeline - 1) / served.split.pipeline
        return passes * served.prefill(self.batch, self.prompt).prediction

    @property
    def predicted_decoding(self):
        """``decoding`` as the calibration predicts it, from a few steps along the way.

        Each of these stands for as many others, which are taken to err as it does.
        """
        last = larger(self.steps - 1, 0.0)
        contexts = (self.prompt + last * (place + 0.5) / SAMPLED for place in range(SAMPLED))
        return self._together(
            self.steps / SAMPLED * self.served.decode(self.batch, context).prediction
            for context in contexts
        )

    def _together(self, predictions):
        """The sum of predictions that all err alike."""
        alike = [replace(each, correlation=1.0) for each in predictions]
        return self.served.calibration.total(alike)

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
        return self.served.split.data * self.batch * self.output / self.time
