"""Named differences between LLM-Viewer's counts and roofkit's.

The departures convert roofkit's count without fusion into LLM-Viewer's, operation by operation.
They reproduce its published table to the digit and keep its mistakes out of roofkit's formulas.

Source: model_analyzer.py of hahnyuan/LLM-Viewer, commit 472f71f.
"""

from collections.abc import Callable
from typing import NamedTuple

from roofkit.kernels import NORM_FLOPS
from roofkit.models.llm.attention import count_pairs, select_where
from roofkit.models.llm.operation_counts import ACTIVATION_FLOPS
from roofkit.roofline import smaller

CONVENTION = "llm-viewer"
ENDS = ("embedding", "embedding_all_reduce", "final_norm")


class Departure(NamedTuple):
    """Roofkit's count, LLM-Viewer's count, and how to convert the first into the second.

    ``change`` takes a Pass and one of its operations whose name is in ``names``. It returns the
    changed operation, or None to drop the operation. A departure that changes no operation has no
    ``change``; ``pass_counter.py`` and ``deployment.py`` check for it by name.
    """

    roofkit: str
    viewer: str
    names: tuple = ()
    change: Callable | None = None


def apply_departures(operations, at, names):
    """Apply the named departures to the Operations of a Pass without fusion, and return them."""
    for departure in (departure for name, departure in DEPARTURES.items() if name in names):
        if departure.change:
            changed = (
                departure.change(at, operation) if operation.name in departure.names else operation
                for operation in operations
            )
            operations = [operation for operation in changed if operation is not None]
    return operations


def read_convention(convention):
    """Return the departure names: none for "roofkit", all for "llm-viewer", or those given.

    Raises ValueError for an unknown name.
    """
    if convention == "roofkit":
        return frozenset()
    if convention == CONVENTION:
        return frozenset(DEPARTURES)
    names = convention if isinstance(convention, (tuple, list, set, frozenset)) else None
    if names is None or not all(isinstance(name, str) and name in DEPARTURES for name in names):
        raise ValueError(
            f"convention={convention!r} is not known; use roofkit, {CONVENTION}, or a list of its "
            f"departures: {', '.join(DEPARTURES)}"
        )
    return frozenset(names)


def _read_one_operand(at, operation):
    return operation._replace(activations=2 * at.widths.stream * at.model.hidden * at.tokens)


def _charge_norm_seven(at, operation):
    return operation._replace(flops=operation.flops / NORM_FLOPS[at.model.norm] * 7)


def _drop_weight_bytes(at, operation):
    return operation._replace(weights=0.0)


def _charge_activation_two(at, operation):
    return operation._replace(
        flops=operation.flops / (ACTIVATION_FLOPS[at.model.activation] + at.model.gated) * 2
    )


def _use_hidden_width(at, operation):
    width = {"mlp_act": at.shard.mlp, "experts_act": at.shard.expert_width,
             "shared_act": at.shard.shared_width}[operation.name]  # fmt: skip
    share = at.model.hidden / width
    return operation._replace(
        flops=operation.flops * share, activations=operation.activations * share
    )


def _count_masked_pairs(at, operation):
    everywhere = at.model.window_layers == at.model.layers
    window = at.model.window if everywhere or operation.name == "window_attention" else None
    pairs = count_pairs(at.new, at.cached, window)
    return operation._replace(flops=operation.flops / pairs * (at.new * (at.cached + at.new)))


def _read_kv_head_queries(at, operation):
    fewer = at.tokens * (at.shard.q_dim - at.shard.kv_dim) * (1 - at.decoding)
    return operation._replace(activations=operation.activations - at.widths.stream * fewer)


def _reread_per_block(at, operation):
    w, width = at.widths, at.model.head_dim
    tile = smaller(-(-at.how.rates.on_chip // (w.kv * width)), float(width))
    once = 2 * w.kv * at.shard.kv_dim * at.tokens
    return operation._replace(kv=select_where(at.decoding, operation.kv, once * -(-at.new // tile)))


def _read_kv_per_query_head(at, operation):
    return operation._replace(kv=operation.kv * (at.shard.q_dim // at.shard.kv_dim))


def _write_rows_of_keys(at, operation):
    w, heads = at.widths, at.shard.heads
    written = 2 * at.tokens * heads * (at.cached + at.new)
    queries = w.stream * (at.tokens * at.shard.q_dim)
    return operation._replace(activations=queries + w.activations * written)


def _drop_operation(at, operation):
    return None


def _drop_rotation(at, operation):
    if operation.name == "rotary":
        return None
    return operation._replace(
        activations=at.widths.activations * at.model.hidden * at.tokens,
        kv=at.widths.kv * (at.tokens * at.shard.kv_dim),
    )


def _halve_flops(at, operation):
    return operation._replace(flops=operation.flops / 2)


def _move_one_sequence(at, operation):
    return operation._replace(activations=operation.activations / at.batch)


NORMS = ("attn_norm", "mlp_norm", "final_norm", "qk_norm")
ATTENTIONS = ("attention", "window_attention")
ACTS = ("mlp_act", "experts_act", "shared_act")

DEPARTURES = {
    "add_operands": Departure(
        "a residual add reads 2 operands", "1", ("attn_add", "mlp_add"), _read_one_operand
    ),
    "norm_flops": Departure(
        "RMSNorm 4 FLOPs an element, LayerNorm 7", "7 for both", NORMS, _charge_norm_seven
    ),
    "norm_weights": Departure(
        "norms read their parameters", "they do not", NORMS, _drop_weight_bytes
    ),
    "activation_flops": Departure(
        "SiLU 3 FLOPs an element, the gate 1", "2 in all", ACTS, _charge_activation_two
    ),
    "activation_width": Departure(
        "the activation has the MLP's width", "the hidden width", ACTS, _use_hidden_width
    ),
    "causal": Departure(
        "fused attention skips masked pairs", "it computes them", ATTENTIONS, _count_masked_pairs
    ),
    "new_token": Departure("a new token attends to itself too", "to the cache alone"),
    "query_heads": Departure(
        "QKᵀ reads every query head (unfused)", "as many as there are KV heads",
        ("qk_matmul", "window_qk_matmul"), _read_kv_head_queries,
    ),
    "flash_rows": Departure(
        "K and V are read once if they fit on the chip", "once every 128 rows",
        ATTENTIONS, _reread_per_block,
    ),
    "flash_kv_heads": Departure(
        "fused attention reads the KV heads", "one K and V a query head",
        ATTENTIONS, _read_kv_per_query_head,
    ),
    "flash_output": Departure(
        "fused attention writes rows as wide as a head", "as long as the keys, twice",
        ATTENTIONS, _write_rows_of_keys,
    ),
    "rotary": Departure(
        "rotary embedding is a kernel", "it is left out", ("rotary", "k_proj"), _drop_rotation
    ),
    "ends": Departure(
        "embedding and final norm belong to the pass", "they are left out", ENDS, _drop_operation
    ),
    "lm_head_fma": Departure(
        "a multiply-add of lm_head is 2 FLOPs", "1", ("lm_head",), _halve_flops
    ),
    "lm_head_batched": Departure(
        "lm_head moves activations for every sequence", "for one", ("lm_head",), _move_one_sequence
    ),
    "one_format": Departure(
        "embedding, lm_head and everything between matrices have 16 bits",
        "as many as weights and activations",
    ),
    "one_peak": Departure(
        "matmul and attention each run at the peak of their operands",
        "at 8 bits only if everything has 8 bits",
    ),
    "prefill_token": Departure("prefill yields the first token", "a step follows for each token"),
}  # fmt: skip
