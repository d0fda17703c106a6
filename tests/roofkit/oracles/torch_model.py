"""What a config.json asks for as Hugging Face transformers builds it, counted by PyTorch.

Parameters come from the model on the meta device, FLOPs from a pass of a small one on the CPU with
random weights, under PyTorch's own counter. Nothing is fetched.
"""

import functools
import os
import re
from dataclasses import dataclass, replace

import pytest

ATTENTION = re.compile(r"\.(self_attn|attn|self_attention)$")
HEAD = re.compile(r"\.(lm_head|embed_out)$")
# These came with code of their own: the first DeepSeek has the shapes of GLM-4.5, Kimi K2 those of
# DeepSeek-V3.
STANDS_IN = {"deepseek": "glm4_moe", "kimi_k2": "deepseek_v3"}


@dataclass
class Counted:
    """FLOPs of the products of matrices in a pass, by where they are.

    ``rectangle`` is that of the scores and of what they weigh, for every query and every key that
    the pass holds, as it was computed; ``attention`` the part of it that the mask leaves.
    ``scores`` are the scores that it leaves, over all heads, sequences and layers, and ``cached``
    the elements of the cache after the pass.
    """

    projections: int = 0
    mlp: int = 0
    head: int = 0
    rectangle: int = 0
    attention: int = 0
    scores: int = 0
    cached: int = 0


@functools.cache
def loaded():
    """torch and transformers, which take seconds to import and are no dependency."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    get = "pip install torch==2.13.0 transformers==5.23.0"
    torch = pytest.importorskip("torch", reason=get)
    torch.set_num_threads(1)  # the models are small, and the machine may be busy
    return torch, pytest.importorskip("transformers", reason=get)


def config_of(fields):
    """The fields of a config.json as transformers reads them."""
    _, transformers = loaded()
    fields = dict(fields)
    kind = fields.pop("model_type")
    return transformers.AutoConfig.for_model(STANDS_IN.get(kind, kind), **fields)


def parameters(fields):
    """Parameters of the model, those that are tied counted once."""
    torch, transformers = loaded()
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config_of(fields))
    return sum(each.numel() for each in model.parameters())


def counted(fields, batch, new, cached=0):
    """A pass over new tokens of each sequence after ``cached`` ones, as Counted."""
    torch, transformers = loaded()
    from torch.utils.flop_counter import FlopCounterMode

    torch.manual_seed(0)
    config = config_of(fields)
    model = transformers.AutoModelForCausalLM.from_config(
        config, attn_implementation="eager", experts_implementation="eager"
    ).eval()
    tokens = torch.arange(batch * (cached + new)).reshape(batch, -1) % config.vocab_size
    seen = {}

    def look(module, args, given):
        mask = given["attention_mask"]
        visible = mask if mask.dtype == torch.bool else mask == 0
        seen[module] = int(visible.sum()), visible.numel()

    places = dict(model.named_modules())
    for path, module in places.items():
        if ATTENTION.search(path):
            module.register_forward_pre_hook(look, with_kwargs=True)
    cache = transformers.DynamicCache(config=config)
    with torch.no_grad():
        if cached:
            model(tokens[:, :cached], past_key_values=cache, use_cache=True)
        with FlopCounterMode(display=False) as counter:
            model(tokens[:, cached:], past_key_values=cache, use_cache=True, logits_to_keep=1)
    counts, total = counter.get_flop_counts(), Counted()
    everything = sum(counts["Global"].values())
    for path, module in places.items():
        flops = counts.get(f"{type(model).__name__}.{path}", {})
        if ATTENTION.search(path):
            visible, pairs = seen[module]
            products = flops[torch.ops.aten.bmm]
            total.rectangle += products
            total.attention += products * visible // pairs
            total.projections += sum(flops.values()) - products
            total.scores += config.num_attention_heads * visible
        elif HEAD.search(f".{path}"):
            total.head += sum(flops.values())
    total.mlp = everything - total.projections - total.rectangle - total.head
    kept = [each for layer in cache.layers for each in (layer.keys, layer.values)]
    return replace(total, cached=sum(each.numel() for each in kept))
