"""A small convolutional network that computes on counted arrays, pixel by pixel.

A layer is a tuple: ("conv", channels, kernel, stride, padding, groups, bias), ("dense", units,
bias), ("pool", kernel, stride, padding), ("global_pool",), ("norm",), ("relu",) and
("residual", body, shortcut).
"""

import numpy as np
from counting import Array, Tape, joined


def run(layers, images, seed=0):
    """The forward pass over images [batch, channels, height, width], and its tape."""
    tape, draw = Tape(), np.random.default_rng(seed)
    x = _through(layers, tape.memory(images, "activation"), tape, draw, "")
    with tape.operation("take"):
        return x.copy().values, tape


def _through(layers, x, tape, draw, at):
    for place, (kind, *sizes) in enumerate(layers):
        name = f"{at}{kind}{place}"
        if kind == "residual":
            ways = [_through(way, x, tape, draw, f"{name}.{n}.") for n, way in enumerate(sizes)]
            with tape.operation(name):
                x = ways[0] + ways[1]
            continue
        with tape.operation(name):
            x = _LAYERS[kind](x, tape, draw, *sizes)
    return x


def _weights(tape, draw, *shape):
    return tape.memory(draw.normal(size=shape), "weight")


def _conv(x, tape, draw, channels, kernel, stride=1, padding=0, groups=1, bias=True):
    inputs = x.shape[1]
    filters = _weights(tape, draw, channels, inputs // groups, kernel, kernel)
    biases = _weights(tape, draw, channels) if bias else None

    def pixel(window):
        for group in range(groups):
            mine = slice(group * channels // groups, (group + 1) * channels // groups)
            seen = window[group * inputs // groups : (group + 1) * inputs // groups]
            flat = seen.reshape(1, -1)
            matrix = filters[mine].reshape(-1, flat.shape[1])
            yield flat.matmul(matrix.T, biases[mine] if bias else None)

    return _slid(x, kernel, stride, padding, channels, pixel)


def _slid(x, kernel, stride, padding, channels, pixel):
    """What ``pixel`` makes of the window of each pixel of the result, channel by channel."""
    sides = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    # Padding is no element of the input.
    where = np.pad(x.where, sides, constant_values=-1)
    padded = Array(x.tape, np.pad(x.values, sides), x.buffer, where)
    height, width = ((length - kernel) // stride + 1 for length in padded.shape[2:])
    made = []
    for image, i, j in np.ndindex(x.shape[0], height, width):
        at = (slice(place * stride, place * stride + kernel) for place in (i, j))
        made += pixel(padded[(image, slice(None), *at)])
    values = joined(made, (x.shape[0], height, width, channels)).values
    return x.tape.fresh(np.moveaxis(values, -1, 1))


def _dense(x, tape, draw, units, bias=True):
    flat = x.reshape(x.shape[0], -1)
    matrix = _weights(tape, draw, flat.shape[1], units)
    made = flat.matmul(matrix, _weights(tape, draw, units) if bias else None)
    return made.reshape(x.shape[0], units, 1, 1)


def _pool(x, tape, draw, kernel, stride, padding=0):
    channels = x.shape[1]
    return _slid(
        x, kernel, stride, padding, channels,
        lambda window: [window.reshape(channels, -1).max()],
    )  # fmt: skip


def _global_pool(x, tape, draw):
    mean = x.reshape(*x.shape[:2], -1).sum() / (x.shape[2] * x.shape[3])
    return mean.reshape(*x.shape[:2], 1, 1)


def _norm(x, tape, draw):
    scale, shift = (_weights(tape, draw, x.shape[1], 1, 1) for _ in range(2))
    return x * scale + shift


def _relu(x, tape, draw):
    return x.maximum(0)


_LAYERS = {
    "conv": _conv, "dense": _dense, "pool": _pool, "global_pool": _global_pool, "norm": _norm,
    "relu": _relu,
}  # fmt: skip
