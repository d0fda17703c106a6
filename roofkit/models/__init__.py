"""Whole models as tables of layers: language models and convolutional networks.

``rk.llm`` and ``rk.cnn`` find a model by name; ``llms`` and ``cnns`` list those that have one.
"""

from roofkit.efficiency import mbu, mfu
from roofkit.models.cnn.known import cnns
from roofkit.models.cnn.network import CNN
from roofkit.models.llm.configs import llms
from roofkit.models.llm.model import LLM
from roofkit.models.llm.solve import cheapest

__all__ = ["CNN", "LLM", "cheapest", "cnns", "llms", "mbu", "mfu"]
