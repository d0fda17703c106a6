"""What a mixture of experts costs, if tokens are routed evenly."""

import numpy as np

from roofkit.models.operations import Operation


def experts(planned):
    """Plan the routed and the shared experts."""
    model, split, w, fused = planned.model, planned.split, planned.widths, planned.how.fused
    layers, d = model.expert_mlps, model.hidden
    flops, weights = planned.matrix(d, model.experts, model.router_bias)
    read = w.activations * d
    if fused:
        norm_flops, norm_weights = planned.norms_of(1)
        flops, weights, read = flops + norm_flops, weights + norm_weights, w.stream * d
    planned.add("router", layers, flops, weights, read + w.stream * model.experts, on_stream=fused)
    planned.parts.append(_Routed(planned.activation_flops))
    if model.shared_width:
        if model.shared_gate:
            moved = 0.0 if fused else w.stream * (d + 1)
            planned.add("shared_scale", layers, *planned.matrix(d, 1), moved)
        planned.mlp(layers, split.shared_width, "shared_{}", "shared_act", model.mlp_bias,
                    shared=True)  # fmt: skip
    if not fused:
        # What the shared expert made is where the sum of the others begins.
        summed = model.experts_per_token + (model.shared_width > 0)
        flops = (2 * model.experts_per_token + model.shared_gate) * d
        planned.add("experts_sum", layers, flops, 0.0, w.stream * (summed + 1) * d)


class _Routed:
    """From a Pass to the Operations of its routed experts."""

    def __init__(self, activation_flops):
        self._activation_flops = activation_flops

    def __call__(self, at):
        model, split, w = at.model, at.split, at.widths
        layers, d, width = model.expert_mlps, model.hidden, split.expert_width
        # All replicas send their tokens to whoever holds the experts.
        visitors = at.tokens * split.data if split.exchanges else at.tokens
        share = split.experts / model.experts
        rows = visitors * (model.experts_per_token * share)
        # Tokens that visit some expert here, once each, however many they visit.
        arrived = visitors * (1 - (1 - share) ** model.experts_per_token)
        touched = _touched(model, split, visitors)

        def routed(name, matrices, d_in, d_out, activations, flops=0.0, on_stream=False):
            # Each expert's matrices and biases are read if any token visits it.
            held = w.experts * float(matrices * d_in * d_out)
            held += model.expert_bias * w.stream * matrices * d_out
            flops = 2 * matrices * d_in * d_out * rows + flops
            return Operation(name, layers, flops, held * touched, activations, 0.0,
                             at.how.routed, on_stream)  # fmt: skip

        def exchange(name, width):
            chips = split.tensor * split.data
            array = width * chips * d * arrived
            return Operation(name, layers, collective="all-to-all", array=array, among=chips)

        gated = 1 + model.gated
        act = self._activation_flops * width * rows
        if split.exchanges:
            yield exchange("dispatch", w.activations)
        if at.how.fused:
            # A token's vector is read once for all its experts, and their results add up as they
            # come: on the residual stream, or for who sent the token.
            yield routed("experts_gate_up" if model.gated else "experts_up", gated, d, width,
                         w.activations * (d * arrived + width * rows), act)  # fmt: skip
            added = 0.0 if model.shared_width else d * at.tokens
            written = d * arrived if split.exchanges else 2 * d * at.tokens
            moved = w.activations * width * rows + w.stream * written
            flops = 2 * d * rows + added
            yield routed("experts_down", 1, width, d, moved, flops, not split.exchanges)
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
            yield exchange("combine", w.travel)


def _touched(model, split, visitors):
    """Experts on this chip that some token visits."""
    # NumPy's power for numbers too, so that they agree with arrays.
    missed = np.power(1 - model.experts_per_token / model.experts, np.atleast_1d(visitors))
    missed = missed if np.ndim(visitors) else float(missed[0])
    return split.experts * (1 - missed)
