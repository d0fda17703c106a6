"""What LLM-Viewer counts differently, each departure by its name.

A count of ``count.py`` without fusion is turned into LLM-Viewer's, operation by operation, so that
its published table comes out to the digit and none of its slips stands in our formulas.

Source: model_analyzer.py of hahnyuan/LLM-Viewer, commit 472f71f.
"""

from collections.abc import Callable
from typing import NamedTuple

from roofkit.kernels import NORM_FLOPS
from roofkit.models.llm.attention import choose, count_pairs
from roofkit.models.llm.operation_counts import ACTIVATION_FLOPS
from roofkit.roofline import smaller

CONVENTION = "llm-viewer"
ENDS = ("embedding", "embedding_all_reduce", "final_norm")


class Departure(NamedTuple):
    """What roofkit counts, what LLM-Viewer counts, and how to get there.

    ``change`` takes a Pass and one of its operations of these ``names``, and gives another, or
    None to drop it. It is missing where the departure changes no operation: ``passes.py`` and
    ``deployment.py`` ask for these by name.
    """

    roofkit: str
    viewer: str
    names: tuple = ()
    change: Callable | None = None


def apply_departures(operations, at, names):
    """The Operations of a Pass without fusion, with these departures."""
    for departure in (departure for name, departure in DEPARTURES.items() if name in names):
        if departure.change:
            changed = (
                departure.change(at, each) if each.name in departure.names else each
                for each in operations
            )
            operations = [each for each in changed if each is not None]
    return operations


def read_convention(convention):
    """Names of departures: none for "roofkit", all for "llm-viewer", or those that are given.

    Raises ValueError for a name that is not known.
    """
    if convention == "roofkit":
        return frozenset()
    if convention == CONVENTION:
        return frozenset(DEPARTURES)
    given = convention if isinstance(convention, (tuple, list, set, frozenset)) else None
    if given is None or not all(isinstance(each, str) and each in DEPARTURES for each in given):
        raise ValueError(
            f"convention={convention!r} is not known; use roofkit, {CONVENTION}, or a list of its "
            f"departures: {', '.join(DEPARTURES)}"
        )
    return frozenset(given)


def _read_one_operand(at, each):
    return each._replace(activations=2 * at.widths.stream * at.model.hidden * at.tokens)


def _charge_norm_seven(at, each):
    return each._replace(flops=each.flops / NORM_FLOPS[at.model.norm] * 7)


def _drop_parameters(at, each):
    return each._replace(weights=0.0)


def _charge_activation_two(at, each):
    return each._replace(
        flops=each.flops / (ACTIVATION_FLOPS[at.model.activation] + at.model.gated) * 2
    )


def _use_hidden_width(at, each):
    width = {"mlp_act": at.shard.mlp, "experts_act": at.shard.expert_width,
             "shared_act": at.shard.shared_width}[each.name]  # fmt: skip
    share = at.model.hidden / width
    return each._replace(flops=each.flops * share, activations=each.activations * share)


def _count_masked_pairs(at, each):
    everywhere = at.model.window_layers == at.model.layers
    window = at.model.window if everywhere or each.name == "window_attention" else None
    met = count_pairs(at.new, at.cached, window)
    return each._replace(flops=each.flops / met * (at.new * (at.cached + at.new)))


def _read_kv_head_queries(at, each):
    fewer = at.tokens * (at.shard.q_dim - at.shard.kv_dim) * (1 - at.decoding)
    return each._replace(activations=each.activations - at.widths.stream * fewer)


def _reread_per_block(at, each):
    w, width = at.widths, at.model.head_dim
    tile = smaller(-(-at.how.rates.on_chip // (w.kv * width)), float(width))
    once = 2 * w.kv * at.shard.kv_dim * at.tokens
    return each._replace(kv=choose(at.decoding, each.kv, once * -(-at.new // tile)))


def _read_kv_per_query_head(at, each):
    return each._replace(kv=each.kv * (at.shard.q_dim // at.shard.kv_dim))


def _write_rows_of_keys(at, each):
    w, heads = at.widths, at.shard.heads
    written = 2 * at.tokens * heads * (at.cached + at.new)
    queries = w.stream * (at.tokens * at.shard.q_dim)
    return each._replace(activations=queries + w.activations * written)


def _drop_operation(at, each):
    return None


def _drop_rotation(at, each):
    if each.name == "rotary":
        return None
    return each._replace(
        activations=at.widths.activations * at.model.hidden * at.tokens,
        kv=at.widths.kv * (at.tokens * at.shard.kv_dim),
    )


def _halve_flops(at, each):
    return each._replace(flops=each.flops / 2)


def _move_one_sequence(at, each):
    return each._replace(activations=each.activations / at.batch)


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
        "norms read their parameters", "they do not", NORMS, _drop_parameters
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
    "lm_head_fma": Departure("a multiply-add of lm_head is 2 FLOPs", "1", ("lm_head",), _halve_flops),
    "lm_head_batched": Departure(
        "lm_head moves activations for every sequence", "for one", ("lm_head",), _move_one_sequence
    ),
    "one_format": Departure(
        "embedding, lm_head and what lies between matrices have 16 bits",
        "as many as weights and activations",
    ),
    "one_peak": Departure(
        "matmul and attention each run at the peak of their operands",
        "at 8 bits only if everything has 8 bits",
    ),
    "prefill_token": Departure("prefill yields the first token", "a step follows for each token"),
}  # fmt: skip
