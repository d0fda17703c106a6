"""The cost of a mixture of experts with evenly routed tokens.

Each token is routed to ``experts_per_token`` different experts. If the experts are spread across
replicas, a token's vector is sent once to each chip that has any of its experts, and the chip sends
back the sum of its results once. ``exchange_tokens`` computes the minimum traffic.
"""

import math
from dataclasses import replace

import numpy as np

from roofkit.models.operations import Operation
from roofkit.network import Transfer, all_to_all
from roofkit.roofline import larger, smaller


def plan_experts(planned):
    """Add the router, the routed experts and any shared expert to a plan."""
    model, split, shard = planned.model, planned.split, planned.shard
    w, fused = planned.widths, planned.how.fused
    layers, d = model.expert_mlps, model.hidden
    flops, weights = planned.matrix_cost(d, model.experts, model.router_bias)
    read = w.activations * d
    if fused:
        norm_flops, norm_weights = planned.block_norm_cost(1)
        flops, weights, read = flops + norm_flops, weights + norm_weights, planned.stream_bytes_read
    planned.add("router", layers, flops, weights, read + w.stream * model.experts,
                on_stream=fused and read > 0)  # fmt: skip
    planned.parts.append(
        _RoutedExperts(planned.activation_flops, expert_visit_share(model, shard.experts))
    )
    if model.shared_width:
        if model.shared_gate:
            moved = 0.0 if fused else w.activations * d + w.stream
            planned.add("shared_scale", layers, *planned.matrix_cost(d, 1), moved)
        planned.mlp(layers, shard.shared_width, "shared_{}", "shared_act", model.mlp_bias,
                    shared=True)  # fmt: skip
    if not fused:
        # The sum starts with the result of the shared expert.
        held = shard.experts / model.experts * (split.data if split.exchanges else 1)
        summed = model.experts_per_token * held + (model.shared_width > 0)
        flops = (2 * model.experts_per_token * held + model.shared_gate) * d
        planned.add("experts_sum", layers, flops, 0.0, w.stream * (summed + 1) * d)


class _RoutedExperts:
    """A part of a plan that yields the Operations of the routed experts in a Pass."""

    def __init__(self, activation_flops, visiting_here):
        self._activation_flops, self._visiting_here = activation_flops, visiting_here

    def __call__(self, at):
        model, split, shard, w = at.model, at.split, at.shard, at.widths
        layers, d, width = model.expert_mlps, model.hidden, shard.expert_width
        # Chips with experts receive tokens from all replicas.
        visitors = at.tokens * split.data if split.exchanges else at.tokens
        share = shard.experts / model.experts
        rows = visitors * (model.experts_per_token * share)
        # A token counts once, even if several of its experts are on this chip.
        arrived = visitors * self._visiting_here
        touched = _count_touched(model, shard, visitors)

        def routed(name, matrices, d_in, d_out, activations, flops=0.0, on_stream=False):
            # The matrices and biases of an expert are read if any token uses the expert.
            weights = w.experts * float(matrices * d_in * d_out)
            weights += model.expert_bias * w.stream * matrices * d_out
            flops = 2 * matrices * d_in * d_out * rows + flops
            return Operation(name, layers, flops, weights * touched, activations, 0.0,
                             at.how.routed, on_stream)  # fmt: skip

        def exchanged(name, width):
            array = width * d * at.tokens
            return Operation(name, layers, collective="exchange", array=array)

        gated = 1 + model.gated
        act = self._activation_flops * width * rows
        if split.exchanges:
            yield exchanged("dispatch", w.activations)
        if at.how.fused:
            # A token's vector is read once for all its experts on this chip: either as it arrived,
            # to be normalised again, or already normalised, as the router wrote it. The results are
            # summed as they are computed, for the chip that sent the token or onto the residual
            # stream. If there is a shared expert, it does the addition to the stream.
            read = w.activations * arrived
            if not split.exchanges:
                read = smaller(w.stream * arrived, read + w.activations * at.tokens)
            yield routed("experts_gate_up" if model.gated else "experts_up", gated, d, width,
                         d * read + w.activations * width * rows, act)  # fmt: skip
            adds = not (split.exchanges or model.shared_width)
            written = d * arrived if split.exchanges else adds * 2 * d * at.tokens
            moved = w.activations * width * rows + w.stream * written
            flops = 2 * d * rows + adds * d * at.tokens
            yield routed("experts_down", 1, width, d, moved, flops, adds)
        else:
            inwards = (w.activations * d + w.stream * width) * rows
            if model.gated:
                yield routed("experts_gate", 1, d, width, inwards)
            yield routed("experts_up", 1, d, width, inwards)
            moved = (gated * w.stream + w.activations) * width * rows
            yield Operation("experts_act", layers, act, 0.0, moved, 0.0, at.how.routed)
            outwards = (w.activations * width + w.stream * d) * rows
            yield routed("experts_down", 1, width, d, outwards)
        if split.exchanges:
            yield exchanged("combine", w.travel)
            if at.how.fused and not model.shared_width:
                added = d * at.tokens
                yield Operation("mlp_add", layers, added, 0.0, 2 * w.stream * added, 0.0,
                                at.how.linear, True)  # fmt: skip


def expert_visit_share(model, held):
    """Return the share of tokens that use at least one of ``held`` experts.

    >>> import roofkit as rk
    >>> round(expert_visit_share(rk.llm("Mixtral-8x7B"), 2), 4)               # 1 - 6/8 · 5/7
    0.4643
    """
    chosen = range(model.experts_per_token)
    return 1 - math.prod(max(model.experts - held - i, 0) / (model.experts - i) for i in chosen)


def exchange_tokens(size, model, split, group, inside):
    """Return the Transfer that sends tokens to experts in all replicas; the way back is the same.

    ``size`` is the bytes of a replica's token vectors, which each of its chips already has.
    ``inside`` of these chips are in one node of ``group``, the group of all replicas. Each node
    receives one copy of a vector over its network cards and forwards it over the links to all other
    chips that need it. Results return the same way and are summed where they meet. A router limited
    to a few groups of experts, like DeepSeek-V3's, sends slightly less than an even router.

    On a torus with one chip per replica, each vector for a chip in the other half must cross the
    middle once. This sets a lower bound.

    Source: DeepSeek-AI, "DeepSeek-V3 Technical Report", section 3.2.2.

    >>> import roofkit as rk
    >>> from roofkit.models.llm.split import Split
    >>> mixtral, group = rk.llm("Mixtral-8x7B"), rk.group("H100", 8)
    >>> exchange_tokens(8e6, mixtral, Split(data=8, expert=8), group, inside=1)
    Transfer(14 MB over 450 GB/s, 31.1 µs)
    """
    chips = group.per_node
    near = min(max(chips / inside, 1), split.data)  # replicas with chips in a node
    away = split.data - near
    # Chips with the same experts are neighbours, so a node has the fewest different experts.
    chip_experts = model.experts // split.expert
    held = chip_experts * max(chips * split.expert // group.n, 1)
    to_chip, to_node = expert_visit_share(model, chip_experts), expert_visit_share(model, held)
    # A vector received over a card is already on one chip of the node, ideally one that needs it.
    arrived = size * ((near - 1) * to_chip + away * (to_chip - to_node / chips))
    if group.topology == "torus" and split.tensor == 1 and held > 1:
        across = 2 * chips * size * expert_visit_share(model, held // 2)
        within = replace(group, nodes=1, card=None)
        arrived = larger(arrived, all_to_all(across, within).bytes)
    return Transfer(group, arrived, size * away * to_node / chips)


def _count_touched(model, shard, visitors):
    """Return the number of experts on this chip that at least one token uses."""
    # Use NumPy's power for plain numbers too, so they are rounded like arrays.
    missed = np.power(1 - model.experts_per_token / model.experts, np.atleast_1d(visitors))
    missed = missed if np.ndim(visitors) else float(missed[0])
    return shard.experts * (1 - missed)
