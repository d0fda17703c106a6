"""The layers of convolutional networks, with their output shapes and costs.

A shape is the (channels, height, width) of one image. ``output(shape)`` returns the shape of a
layer's output. ``cost(shape, batch, dtype, weight_dtype=, fma=, moves=)`` returns its Cost for a
batch, where ``moves`` names the arrays moved: X (input), Y (weights), Z (output).

Only the multiply-adds of convolutions and fully connected layers count as FLOPs. As in published
counts, all other layers only move bytes.
"""

from collections import Counter
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from roofkit._inputs import itemsize
from roofkit.kernels import _conv_output_length, conv2d, elementwise, matmul
from roofkit.roofline import Cost


class _BaseLayer:
    """Base class of layers, which checks sizes and counts bytes but no FLOPs."""

    kind = "layer"
    can_fuse = False
    """Whether the layer can process the previous layer's output before it goes to memory."""

    def __post_init__(self):
        for field in fields(self):
            if field.type is not int:
                continue
            value, least = getattr(self, field.name), 0 if field.name == "padding" else 1
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not whole or value < least:
                raise ValueError(
                    f"{type(self).__name__}: {field.name} must be a whole number of at least "
                    f"{least}, got {value!r}"
                )
            object.__setattr__(self, field.name, int(value))

    def output(self, shape):
        return shape

    def parameters(self, shape):
        """Return the number of trainable parameters, including batch norm's scale and shift."""
        # At one byte each, the bytes of Y equal the number of parameters.
        return self.cost(shape, dtype="int8", moves="Y").bytes

    def cost(self, shape, batch=1, dtype="fp32", *, weight_dtype=None, fma=2, moves="XYZ"):
        weights = self._weights(shape) if "Y" in moves else 0
        return (
            Cost(0, itemsize(weight_dtype or dtype) * weights)
            + _stream_cost(shape, batch, dtype, self._operands if "X" in moves else 0)
            + _stream_cost(self.output(shape), batch, dtype, 1 if "Z" in moves else 0)
        )

    _operands = 1

    def _weights(self, shape):
        return 0


@dataclass(frozen=True)
class Conv(_BaseLayer):
    """A convolution with square kernels and ``channels`` output channels.

    The cost is 2·C_in/groups·K²·C_out·H'·W' FLOPs per image. A bias adds no FLOPs, because it
    replaces the first addition of each output. The traffic is that of ``conv2d`` plus the biases.

    >>> Conv(64, 3, padding=1).output((3, 224, 224))
    (64, 224, 224)
    >>> Conv(64, 3, padding=1).parameters((3, 224, 224))
    1792
    """

    channels: int
    kernel: int
    stride: int = 1
    padding: int = 0
    groups: int = 1
    bias: bool = True
    name: str = ""

    kind = "conv"

    def output(self, shape):
        return (self.channels, *_output_size(shape, self.kernel, self.stride, self.padding))

    def cost(self, shape, batch=1, dtype="fp32", *, weight_dtype=None, fma=2, moves="XYZ"):
        channels, rows, cols = shape
        filters = conv2d(
            batch, rows, cols, channels, self.channels, self.kernel,
            stride=self.stride, padding=self.padding, groups=self.groups,
            dtype=dtype, weight_dtype=weight_dtype, fma=fma, moves=moves,
        )  # fmt: skip
        return filters + _bias_cost(self.bias and self.channels, weight_dtype or dtype, moves)


@dataclass(frozen=True)
class DepthwiseConv(_BaseLayer):
    """A convolution that applies a separate K x K filter to each channel.

    >>> DepthwiseConv(3, padding=1, bias=False).parameters((32, 112, 112))
    288
    """

    kernel: int
    stride: int = 1
    padding: int = 0
    bias: bool = True
    name: str = ""

    kind = "depthwise"

    def output(self, shape):
        return self._conv(shape).output(shape)

    def cost(self, shape, *how, **conventions):
        return self._conv(shape).cost(shape, *how, **conventions)

    def _conv(self, shape):
        channels = shape[0]
        return Conv(channels, self.kernel, self.stride, self.padding, channels, self.bias)


@dataclass(frozen=True)
class Dense(_BaseLayer):
    """A fully connected layer, which multiplies its D flattened inputs by a D x units matrix.

    >>> Dense(4096).parameters((512, 7, 7))
    102764544
    """

    units: int
    bias: bool = True
    name: str = ""

    kind = "fc"

    def output(self, shape):
        return (self.units, 1, 1)

    def cost(self, shape, batch=1, dtype="fp32", *, weight_dtype=None, fma=2, moves="XYZ"):
        channels, rows, cols = shape
        product = matmul(
            batch, channels * rows * cols, self.units, dtype,
            weight_dtype=weight_dtype, fma=fma, moves=moves,
        )  # fmt: skip
        return product + _bias_cost(self.bias and self.units, weight_dtype or dtype, moves)


@dataclass(frozen=True)
class Pool(_BaseLayer):
    """Max or average pooling, which reads each input once even if windows overlap.

    >>> Pool(3, 2, padding=1).output((64, 112, 112))
    (64, 56, 56)
    """

    kernel: int
    stride: int
    padding: int = 0
    name: str = ""

    kind = "pool"

    def output(self, shape):
        return (shape[0], *_output_size(shape, self.kernel, self.stride, self.padding))


@dataclass(frozen=True)
class GlobalPool(_BaseLayer):
    """Global pooling, which reduces each channel to one number.

    >>> GlobalPool().output((512, 7, 7))
    (512, 1, 1)
    """

    name: str = ""

    kind = "global_pool"

    def output(self, shape):
        return (shape[0], 1, 1)


@dataclass(frozen=True)
class BatchNorm(_BaseLayer):
    """Batch normalisation at inference: a trained scale and shift for each channel.

    The moving mean and variance are folded into the scale and shift beforehand. They are not
    trainable and cause no memory traffic.

    >>> BatchNorm().parameters((64, 56, 56))
    128
    """

    name: str = ""

    kind, can_fuse = "bn", True

    def _weights(self, shape):
        return 2 * shape[0]


@dataclass(frozen=True)
class ReLU(_BaseLayer):
    """A ReLU or any other elementwise activation function.

    >>> ReLU().cost((64, 56, 56)).bytes   # reads and writes 64 x 56 x 56 elements of 4 bytes
    1605632
    """

    name: str = ""

    kind, can_fuse = "relu", True


@dataclass(frozen=True)
class Residual:
    """A block whose input is added to the output of its ``body``.

    If there is a ``shortcut``, the input passes through it first. The block ends with an addition,
    which reads both results and writes their sum. ``name`` is the name of the addition.

    >>> Residual((Conv(64, 3, padding=1), BatchNorm())).shortcut
    ()
    """

    body: tuple
    shortcut: tuple = ()
    name: str = ""

    def __post_init__(self):
        for name in ("body", "shortcut"):
            try:
                object.__setattr__(self, name, tuple(getattr(self, name)))
            except TypeError:
                raise ValueError(
                    f"Residual: {name} must be a sequence of layers, got {getattr(self, name)!r}"
                ) from None


@dataclass(frozen=True)
class Add(_BaseLayer):
    """The sum of two arrays of the same shape, such as the sum at the end of a Residual.

    >>> Add().cost((64, 56, 56), moves="X").bytes / Add().cost((64, 56, 56), moves="Z").bytes
    2.0
    """

    name: str = ""

    kind, can_fuse, _operands = "add", True, 2


LAYER_TYPES = (Conv, DepthwiseConv, Dense, Pool, GlobalPool, BatchNorm, ReLU, Residual)


class PlacedLayer(NamedTuple):
    """A layer in a network, with its name, its input shape and whether it can be fused."""

    name: str
    layer: Any
    shape: tuple
    can_fuse: bool


def place_layers(layers, shape):
    """Return the PlacedLayers for an input of this shape, with residual blocks flattened.

    Raises ValueError naming the layer that does not fit.

    >>> [row.name for row in place_layers([Conv(64, 3, padding=1), ReLU(), Dense(10)], (3, 32, 32))]
    ['conv1', 'relu1', 'fc1']
    """
    return tuple(_place_layers_in_turn(layers, shape, Counter()))


def _place_layers_in_turn(layers, shape, counts):
    for place, layer in enumerate(layers):
        fault = ""
        if isinstance(layer, Residual):
            body = yield from _place_layers_in_turn(layer.body, shape, counts)
            shortcut = yield from _place_layers_in_turn(layer.shortcut, shape, counts)
            if body != shortcut:
                fault = (
                    f"the body makes {body} of {shape}, the shortcut {shortcut}; make them equal"
                )
            layer, shape = Add(layer.name), body
        elif not isinstance(layer, LAYER_TYPES):
            known = ", ".join(kind.__name__ for kind in LAYER_TYPES)
            raise ValueError(f"{layer!r} is not a layer; use one of {known}")
        counts[layer.kind] += 1
        name = layer.name or f"{layer.kind}{counts[layer.kind]}"
        try:
            output = layer.output(shape)
            layer.parameters(shape)
        except ValueError as error:
            fault = error
        if fault:
            raise ValueError(f"{name}: {fault}")
        # The first layer of a residual branch can't change its input; the other branch needs it.
        can_fuse = layer.can_fuse and (place > 0 or isinstance(layer, Add))
        yield PlacedLayer(name, layer, shape, can_fuse)
        shape = output
    return shape


def _output_size(shape, kernel, stride, padding):
    _, rows, cols = shape
    return (
        _conv_output_length(rows, kernel, stride, padding, "H"),
        _conv_output_length(cols, kernel, stride, padding, "W"),
    )


def _bias_cost(number, dtype, moves):
    return Cost(0, itemsize(dtype) * number * ("Y" in moves))


def _stream_cost(shape, batch, dtype, times):
    channels, rows, cols = shape
    elements = batch * (channels * rows * cols)
    return elementwise(elements, dtype, flops_per_element=0, reads=times, writes=0)
