"""Whole models as tables of layers: language models and convolutional networks.

``rk.llm`` and ``rk.cnn`` find a model by name, and ``llms`` and ``cnns`` list all models. Option
groups configure how a language model is served:

>>> import roofkit as rk
>>> fp8, eight = rk.models.Precision(weights="fp8"), rk.models.Split(tensor=8)
>>> rk.llm("Llama-3-70B").on("H100", precision=fp8, split=eight)
Deployment(Llama-3-70B on 8 × H100 SXM, fp8 weights, bf16 activations, bf16 KV cache,
    Split(tensor=8))
"""

from roofkit.efficiency import mbu, mfu
from roofkit.models.cnn.catalogue import cnns
from roofkit.models.cnn.network import CNN
from roofkit.models.llm.configs import llms
from roofkit.models.llm.links import Links
from roofkit.models.llm.model import LLM
from roofkit.models.llm.precision import Precision
from roofkit.models.llm.solve import cheapest
from roofkit.models.llm.split import Split

__all__ = ["CNN", "LLM", "Links", "Precision", "Split", "cheapest", "cnns", "llms", "mbu", "mfu"]
