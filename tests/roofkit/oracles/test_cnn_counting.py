"""roofkit's CNN tables against small networks that count what they do, pixel by pixel."""

import adapter
import numpy as np
import tiny_cnn
from cases import cases

CONV = ("conv", 6, 3, 1, 1)
NETWORKS = {
    "conv": [CONV],
    "no bias": [("conv", 6, 3, 1, 1, 1, False)],
    "no padding": [("conv", 6, 3)],
    "stride": [("conv", 6, 3, 2, 1)],
    "large kernel": [("conv", 4, 5, 1, 2)],
    "pointwise": [("conv", 6, 1)],
    "groups": [("conv", 6, 3, 1, 1, 2)],
    "depthwise": [("conv", 4, 3, 1, 1, 4, False), ("conv", 8, 1)],
    "classifier": [CONV, ("relu",), ("pool", 2, 2), ("dense", 5), ("relu",), ("dense", 3, False)],
    "pools that lap": [("pool", 3, 2, 1), ("global_pool",), ("dense", 3)],
    "normed": [("conv", 6, 3, 1, 1, 1, False), ("norm",), ("relu",), ("conv", 2, 3, 1, 1)],
    "residual": [
        CONV,
        ("residual", (("conv", 4, 1), ("relu",), CONV, ("norm",)), (("conv", 6, 1),)),
        ("relu",),
    ],
}  # fmt: skip


@cases("fused", [False, True])
@cases("name", NETWORKS)
def test_every_layer_does_and_moves_what_a_counted_run_does(name, fused):
    layers, shape, batch = NETWORKS[name], (4, 6, 8), 2
    _, tape = tiny_cnn.run(layers, np.random.default_rng(1).normal(size=(batch, *shape)))
    network = adapter.network(layers, shape)
    riding = []
    for operation in tape.operations[:-1]:
        kind = operation.name.rsplit(".", 1)[-1].rstrip("0123456789")
        if fused and kind in ("norm", "relu", "residual") and riding:
            riding[-1] = (*riding[-1], operation.name)
        else:
            riding.append((operation.name,))
    found, said = tape.asked(riding), adapter.forward(network, batch, fused=fused)
    del found["take"]
    assert found.keys() == said.keys()
    for layer, asked in found.items():
        told = said[layer]
        assert (told.flops, told.weight, told.activation) == (
            asked.products, asked.weight, asked.activation,
        ), layer  # fmt: skip
    assert network.parameters == sum(asked.weight for asked in found.values())


def test_a_stride_longer_than_the_kernel_skips_inputs():
    """ResNet-50 halves its images by 1 x 1 convolutions that see a quarter of them."""
    layers, shape = [("conv", 6, 1, 2)], (4, 6, 8)
    _, tape = tiny_cnn.run(layers, np.ones((2, *shape)))
    said = adapter.forward(adapter.network(layers, shape), 2)
    assert said["conv0"].activation == tape.asked()["conv0"].activation
