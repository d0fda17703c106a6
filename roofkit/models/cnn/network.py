"""Convolutional networks as lists of layers, with parameters, FLOPs and a forward pass.

Published numbers for the same network differ because authors count differently. Each convention is
an argument of ``cost`` and ``forward``:

- ``fma``: operations per multiply-add; 2 (the default) gives FLOPs, 1 gives MACs.
- ``inputs_read``: whether layers read their inputs from memory. ``False`` counts only parameters
  and outputs, as many tables do.
- ``fused``: whether the previous layer also computes batch norm, ReLU and the addition at the end
  of a residual block. These then move only parameters and the other operand of the addition.
  ``False`` makes them separate layers that read and write memory.
- ``pooling``: whether pooling layers move bytes. ``False`` omits pooling layers, as in tables of
  convolutions and fully connected layers.

All conventions count only the FLOPs of convolutions and fully connected layers.
"""

import functools
import os
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from roofkit._inputs import check_number, itemsize
from roofkit._units import format_quantity
from roofkit.hardware import Chip
from roofkit.hardware import chip as chip_of
from roofkit.kernels import _check_fma
from roofkit.models.cnn.layers import Add, BatchNorm, Dense, GlobalPool, Pool, place_layers
from roofkit.models.layers import Layer, LayerTable
from roofkit.models.operations import Operation
from roofkit.roofline import Cost, Roofline, larger


@dataclass(frozen=True, repr=False)
class CNN:
    """A convolutional network.

    Parameters
    ----------
    name : str
    layers : sequence of Conv, DepthwiseConv, Dense, Pool, GlobalPool, BatchNorm, ReLU, Residual
        In order. A layer without a name is named after its kind and number, such as "conv1".
    input : (channels, height, width) of one image
    source : str

    Raises ValueError naming the layer that does not fit the previous one.

    >>> from roofkit.models.cnn.layers import Conv, Dense, GlobalPool, ReLU
    >>> tiny = CNN("tiny", [Conv(8, 3, padding=1), ReLU(), GlobalPool(), Dense(10)], (3, 32, 32))
    >>> tiny
    CNN(tiny: 314 parameters, 221,264 MACs an image of 3 × 32 × 32)
    """

    name: str
    layers: tuple
    input: tuple = (3, 224, 224)
    source: str = "given by the user"

    def __post_init__(self):
        try:
            layers, shape = tuple(self.layers), tuple(self.input)
        except TypeError:
            raise ValueError(f"{self.name}: layers and input must be sequences") from None
        whole = all(isinstance(size, int) and not isinstance(size, bool) for size in shape)
        if len(shape) != 3 or not whole or min(shape) < 1:
            raise ValueError(
                f"{self.name}: input must be (channels, height, width), whole numbers of at least "
                f"1, got {self.input!r}"
            )
        if not layers:
            raise ValueError(f"{self.name} has no layers; give it one or more")
        object.__setattr__(self, "layers", layers)
        object.__setattr__(self, "input", shape)
        for name, times in Counter(row.name for row in self._placed_layers).items():
            if times > 1:
                raise ValueError(f"{self.name}: {times} layers are named {name!r}; rename them")

    def __repr__(self):
        size = " × ".join(map(str, self.input))
        counts = f"{self.parameters:,} parameters, {self.macs():,} MACs"
        return f"CNN({self.name}: {counts} an image of {size})"

    @functools.cached_property
    def _placed_layers(self):
        try:
            return place_layers(self.layers, self.input)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None

    @property
    def parameters(self):
        """Number of trainable parameters, including batch norm's scales and shifts.

        >>> from roofkit import cnn
        >>> cnn("MobileNetV1").parameters
        4231976
        """
        return sum(row.layer.parameters(row.shape) for row in self._placed_layers)

    @property
    def moving_statistics(self):
        """Number of moving means and variances, which Keras also counts as parameters.

        >>> from roofkit import cnn
        >>> cnn("MobileNetV1").parameters + cnn("MobileNetV1").moving_statistics
        4253864
        """
        return sum(
            2 * row.shape[0] for row in self._placed_layers if isinstance(row.layer, BatchNorm)
        )

    def macs(self, batch=1):
        """Return the multiply-adds (MACs) of a forward pass over ``batch`` images.

        >>> from roofkit import cnn
        >>> cnn("VGG16").macs()
        15470264320
        """
        return self.cost(batch, fma=1).flops

    def cost(
        self, batch=1, dtype="fp32", *,
        weight_dtype=None, fma=2, inputs_read=True, fused=True, pooling=True,
    ):  # fmt: skip
        """Return the Cost of a forward pass: a single point under the roof.

        Parameters
        ----------
        batch : number or array
            Number of images in the pass.
        dtype, weight_dtype : str
            Formats of the activations and the parameters. By default, both formats are the same.
        fma, inputs_read, fused, pooling
            Counting conventions, which are described at the top of this module.

        Raises ValueError for an invalid batch, dtype or convention.

        The published values for VGG16, 600 MB and "25 FLOP/B", count MACs, and include only the
        parameters and outputs of convolutions and fully connected layers. Counting FLOPs gives 51
        FLOP/B, or 46 if inputs and pooling are included.

        >>> from roofkit import cnn
        >>> published = cnn("VGG16").cost(fma=1, inputs_read=False, pooling=False)
        >>> published.bytes, round(published.intensity, 2)
        (607657024, 25.46)
        >>> round(cnn("VGG16").cost().intensity, 1)
        45.9
        """
        rows = self.operations(
            batch, dtype, weight_dtype=weight_dtype, fma=fma, inputs_read=inputs_read, fused=fused,
            pooling=pooling,
        )  # fmt: skip
        return sum((row.cost for row in rows), Cost(0, 0))

    def forward(
        self, chip, batch=1, dtype="fp32", *,
        weight_dtype=None, fma=2, inputs_read=True, fused=True, pooling=True, on_chip=None,
        unconfirmed=False,
    ):  # fmt: skip
        """Return the layers of a forward pass on a machine, as a LayerTable.

        Parameters
        ----------
        chip : Chip, its name, the path of your own file, or Roofline
            For a chip, ``dtype`` selects the peak.
        batch, dtype, weight_dtype, fma, inputs_read, fused, pooling
            As for ``cost``, whose result is the table's total if nothing stays on the chip. With
            ``fma=1``, the table counts MACs, and its peak in MAC/s is half the peak in FLOP/s.
        on_chip : bytes, optional
            Bytes of each tensor that stay on the chip between two layers, without being written or
            read (default: a Chip's last-level cache, or 0 for a Roofline). Splitting a large batch
            into parts that fit can be faster.
        unconfirmed : bool
            Whether to use chip data that no second source confirms.

        Raises ValueError as ``cost`` does, or if the chip has no peak for this dtype.

        As a single point, a network takes the larger of its total compute and memory times. Layer
        by layer, it takes the sum of each layer's larger time, which is at least as long. VGG16
        looks compute-bound as a whole, but its fully connected layers wait for memory:

        >>> from roofkit import chip, cnn
        >>> gtx, vgg = chip("GTX 1080 Ti"), cnn("VGG16")
        >>> layers, whole = vgg.forward(gtx), gtx.roofline("fp32").estimate(vgg.cost())
        >>> round(layers.time * 1e3, 2), round(whole.lower * 1e3, 2)   # milliseconds
        (3.77, 2.74)
        >>> whole.bound, layers["conv4_2"].bound, layers["fc6"].bound
        ('compute', 'compute', 'memory')
        """
        if not isinstance(chip, (Chip, Roofline, str, os.PathLike)):
            raise ValueError(
                f"chip must be a Chip, its name or a Roofline, got {type(chip).__name__}: {chip!r}"
            )
        on = chip if isinstance(chip, Roofline) else chip_of(chip)
        roof = on.roofline(dtype, unconfirmed=unconfirmed) if isinstance(on, Chip) else on
        if on_chip is None:
            on_chip = float(getattr(on, "on_chip", None) or 0.0)
        rows = self.operations(
            batch, dtype, weight_dtype=weight_dtype, fma=fma, inputs_read=inputs_read, fused=fused,
            pooling=pooling, on_chip=on_chip,
        )  # fmt: skip
        # A peak in FLOP/s counts a multiply-add as two operations.
        there = Roofline(roof.peak_flops * (fma / 2), roof.bandwidth)
        batches = f"{np.min(batch):g} … {np.max(batch):g}" if np.ndim(batch) else batch
        title = [
            f"{self.name} forward, batch {batches}",
            dtype if weight_dtype in (None, dtype) else f"{dtype} with {weight_dtype} weights",
            *([on.name] if isinstance(on, Chip) else []),
            "batch norm and ReLU fused" if fused else "batch norm and ReLU not fused",
            *([] if inputs_read else ["inputs not read"]),
            *([] if pooling else ["pooling left out"]),
            *(
                [f"{format_quantity(on_chip, 'B')} of each tensor kept on the chip"]
                if np.any(on_chip)
                else []
            ),
            *(["MACs in place of FLOPs"] if fma == 1 else []),
        ]
        layers = [Layer(each, there) for each in rows]
        return LayerTable(", ".join(title), layers, counts="MACs" if fma == 1 else "FLOPs")

    def with_global_pooling(self):
        """Return this network with global pooling replacing all Dense layers except the last.

        For VGG16, this leaves a ninth of the parameters and 99% of the multiply-adds, at five times
        the intensity. Raises ValueError if the network has no fully connected layer.

        >>> from roofkit import cnn
        >>> published = {"inputs_read": False, "pooling": False}
        >>> vgg, pooled = cnn("VGG16"), cnn("VGG16").with_global_pooling()
        >>> round(pooled.cost(**published).intensity / vgg.cost(**published).intensity, 2)
        5.24
        """
        dense = [place for place, layer in enumerate(self.layers) if isinstance(layer, Dense)]
        if not dense:
            raise ValueError(
                f"{self.name} has no fully connected layer for global pooling to replace"
            )
        body = self.layers[: dense[0]]
        if body and isinstance(body[-1], GlobalPool):
            body = body[:-1]
        layers = (*body, GlobalPool("gap"), *self.layers[dense[-1] :])
        return replace(self, name=f"{self.name} with global pooling", layers=layers)

    def operations(
        self, batch=1, dtype="fp32", *,
        weight_dtype=None, fma=2, inputs_read=True, fused=True, pooling=True, on_chip=0.0,
    ):  # fmt: skip
        """Return the Operations of a forward pass, which are independent of the chip.

        Arguments and errors are the same as for ``cost``, with ``on_chip`` as for ``forward``.

        >>> from roofkit import cnn
        >>> [operation.name for operation in cnn("ResNet-50").operations()][:4]
        ['conv1', 'maxpool', 'layer1.0.conv1', 'layer1.0.conv2']
        """
        conventions = {"inputs_read": inputs_read, "fused": fused, "pooling": pooling}
        for name, value in conventions.items():
            if not isinstance(value, bool):
                raise ValueError(f"{name}={value!r} must be True or False")
        itemsize(dtype)
        if weight_dtype is not None:
            itemsize(weight_dtype, "weight_dtype")
        batch, how = (
            check_number(batch, "batch"),
            {"weight_dtype": weight_dtype, "fma": _check_fma(fma)},
        )
        on_chip = check_number(on_chip, "on_chip", above=False)
        crosses = _make_spill_function(on_chip)
        operations, written, left_out = [], 0, False
        for row in self._placed_layers:
            is_fused = fused and row.can_fuse
            # If a pooling layer is left out, so are the layers fused into it.
            has_no_host = is_fused and left_out and not operations
            if has_no_host or (not pooling and isinstance(row.layer, (Pool, GlobalPool))):
                left_out = True
                continue
            weights = row.layer.cost(row.shape, batch, dtype, moves="Y", **how).bytes
            if is_fused and operations:
                # The layer processes the previous result before it goes to memory. An addition also
                # reads a second array.
                read = row.layer.cost(row.shape, batch, dtype, moves="X", **how).bytes
                read = crosses(read / 2) if inputs_read and isinstance(row.layer, Add) else 0
                last = operations[-1]
                operations[-1] = last._replace(
                    weights=last.weights + weights, activations=last.activations + read
                )
                continue
            made = row.layer.cost(row.shape, batch, dtype, moves="Z", **how)
            written, moved = made.bytes, crosses(made.bytes)
            if inputs_read:
                read = row.layer.cost(row.shape, batch, dtype, moves="X", **how).bytes
                # The first layer reads the images, which always come from memory.
                moved = moved + (crosses(read) if operations else read)
            operations.append(Operation(row.name, 1, made.flops, weights, moved, 0, dtype))
        if operations:  # the last layer's output goes to memory
            last = operations[-1]
            activations = last.activations + written - crosses(written)
            operations[-1] = last._replace(activations=activations)
        return operations


def _make_spill_function(on_chip):
    """Return a function that subtracts the bytes kept on the chip from a tensor's bytes."""
    if not np.any(on_chip):
        return lambda tensor: tensor
    return lambda tensor: larger(tensor - on_chip, 0.0)
