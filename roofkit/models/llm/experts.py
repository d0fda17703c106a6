"""What a mixture of experts costs, if tokens are routed evenly."""

import numpy as np

from roofkit.models.operations import Operation


def experts(count):
    """Add the routed and the shared experts to a count."""
    model, split, w = count.model, count.split, count.widths
    layers, d, width = model.expert_mlps, model.hidden, split.expert_width
    # All replicas send their tokens to whoever holds the experts.
    visitors = count.tokens * split.data if split.exchanges else count.tokens
    share = split.experts / model.experts
    rows = visitors * (model.experts_per_token * share)
    # Tokens that visit some expert here, once each, however many they visit.
    arrived = visitors * (1 - (1 - share) ** model.experts_per_token)
    touched = _touched(model, split, visitors)
    biases = model.expert_bias * w.stream

    flops, weights = count.matrix(d, model.experts, model.expert_bias)
    read = w.activations * d
    if count.how.fused:
        norm_flops, norm_weights = count.norms_of(1)
        flops, weights, read = flops + norm_flops, weights + norm_weights, w.stream * d
    count.add("router", layers, flops, weights, read + w.stream * model.experts,
              on_stream=count.how.fused)  # fmt: skip
    if split.exchanges:
        sent = split.tensor * split.data * d * arrived
        count.exchange("dispatch", layers, w.activations * sent)

    def routed(name, matrices, d_in, d_out, activations, flops=0.0, residual=0.0):
        # Each expert's matrices and biases are read if any token visits it.
        held = w.experts * float(matrices * d_in * d_out) + biases * matrices * d_out
        count.operations.append(
            Operation(
                name, layers, 2 * matrices * d_in * d_out * rows + flops, held * touched,
                activations, 0.0, count.how.routed, residual,
            )
        )  # fmt: skip

    gated = 1 + model.gated
    act = count.activation_flops * width * rows
    if count.how.fused:
        # A token's vector is read once for all its experts, and their results add up as they come:
        # on the residual stream, or for who sent the token.
        routed("experts_gate_up" if model.gated else "experts_up", gated, d, width,
               w.activations * (d * arrived + width * rows), act)  # fmt: skip
        added = 0.0 if model.shared_width else count.stream
        written = d * arrived if split.exchanges else 2 * count.stream
        routed("experts_down", 1, width, d, w.activations * width * rows + w.stream * written,
               2 * d * rows + added, 0.0 if split.exchanges else count.residual)  # fmt: skip
    else:
        if model.gated:
            routed("experts_gate", 1, d, width, (w.activations * d + w.stream * width) * rows)
        routed("experts_up", 1, d, width, (w.activations * d + w.stream * width) * rows)
        moved = (gated * w.stream + w.activations) * width * rows
        count.operations.append(
            Operation("experts_act", layers, act, 0.0, moved, 0.0, count.how.routed)
        )
        routed("experts_down", 1, width, d, (w.activations * width + w.stream * d) * rows)
    if split.exchanges:
        count.exchange("combine", layers, w.travel * sent)
    if model.shared_width:
        if model.shared_gate:
            gate, weights = count.matrix(d, 1)
            count.add("shared_scale", layers, gate, weights,
                      0.0 if count.how.fused else w.stream * (d + 1))  # fmt: skip
        count.mlp(layers, split.shared_width, "shared_{}", "shared_act", model.mlp_bias,
                  shared=True)  # fmt: skip
    if not count.how.fused:
        summed = model.experts_per_token + (model.shared_width > 0)
        count.add("experts_sum", layers, 2 * summed * d, 0.0, w.stream * (summed + 1) * d)


def _touched(model, split, visitors):
    """Experts on this chip that some token visits."""
    # NumPy's power for numbers too, so that they agree with arrays.
    missed = np.power(1 - model.experts_per_token / model.experts, np.atleast_1d(visitors))
    missed = missed if np.ndim(visitors) else float(missed[0])
    return split.experts * (1 - missed)
