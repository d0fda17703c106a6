"""The catalogue of known convolutional networks."""

import functools

from roofkit._names import find_by_name, index_by_name
from roofkit._tables import format_html_table, format_text_table
from roofkit._units import engineering
from roofkit.models.cnn.layers import (
    BatchNorm,
    Conv,
    Dense,
    DepthwiseConv,
    GlobalPool,
    Pool,
    ReLU,
    Residual,
)
from roofkit.models.cnn.network import CNN


class CNNTable(tuple):
    """A tuple of networks that is displayed as a table in terminals and notebooks."""

    __slots__ = ()
    _HEAD = ("network", "parameters", "MACs", "input")
    _UNITS = ("", "", "an image", "C × H × W")

    def _cells(self, network):
        macs = engineering(network.macs()).strip()
        size = " × ".join(map(str, network.input))
        return [(network.name, network.source), f"{network.parameters:,}", macs, size]

    def __repr__(self):
        return format_text_table(self._HEAD, self._UNITS, map(self._cells, self))

    def _repr_html_(self):
        return format_html_table(self._HEAD, self._UNITS, map(self._cells, self))


def cnn(name):
    """Return the network with this name, ignoring case, spaces, hyphens and underscores.

    Raises ValueError for an unknown name and suggests the nearest ones.

    >>> cnn("resnet_50").parameters
    25557032
    """
    return find_by_name(
        name, index_by_name({network.name: network for network in cnns()}), "network"
    )


@functools.cache
def cnns():
    """Return all known networks as a CNNTable.

    >>> cnns()
    network       parameters    MACs            input
                            an image        C × H × W
    VGG16        138,357,544  15.5 G  3 × 224 × 224
    MobileNetV1    4,231,976   569 M  3 × 224 × 224
    ResNet-50     25,557,032  4.09 G  3 × 224 × 224
    """
    return CNNTable([_vgg16(), _mobilenet_v1(), _resnet50()])


# Convolutions and channels of each stage. Every stage ends with max pooling.
VGG16_STAGES = (2, 64), (2, 128), (3, 256), (3, 512), (3, 512)
# Stride of each depthwise convolution, and channels of the pointwise convolution after it.
MOBILENET_V1_BLOCKS = (
    (1, 64), (2, 128), (1, 128), (2, 256), (1, 256), (2, 512), *[(1, 512)] * 5,
    (2, 1024), (1, 1024),
)  # fmt: skip
# Blocks, inner channels and stride of each stage. A block outputs 4 times its inner channels.
RESNET50_STAGES = (3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)


def _vgg16():
    layers = []
    for stage, (convolutions, channels) in enumerate(VGG16_STAGES, 1):
        for i in range(1, convolutions + 1):
            layers += [
                Conv(channels, 3, padding=1, name=f"conv{stage}_{i}"),
                ReLU(f"relu{stage}_{i}"),
            ]
        layers.append(Pool(2, 2, name=f"pool{stage}"))
    layers += [Dense(4096, name="fc6"), ReLU("relu6"), Dense(4096, name="fc7"), ReLU("relu7")]
    return CNN(
        "VGG16",
        [*layers, Dense(1000, name="fc8")],
        source="Simonyan and Zisserman, arXiv:1409.1556, table 1, configuration D; "
        "pytorch/vision, torchvision/models/vgg.py",
    )


def _mobilenet_v1():
    def normalised(conv):
        return conv, BatchNorm(f"{conv.name}_bn"), ReLU(f"{conv.name}_relu")

    layers = list(normalised(Conv(32, 3, 2, padding=1, bias=False, name="conv1")))
    for i, (stride, channels) in enumerate(MOBILENET_V1_BLOCKS, 1):
        depthwise = DepthwiseConv(3, stride, padding=1, bias=False, name=f"conv_dw_{i}")
        pointwise = Conv(channels, 1, bias=False, name=f"conv_pw_{i}")
        layers += [*normalised(depthwise), *normalised(pointwise)]
    return CNN(
        "MobileNetV1",
        [*layers, GlobalPool("gap"), Dense(1000, name="conv_preds")],
        source="Howard et al., arXiv:1704.04861, table 1, width 1.0; the last depthwise "
        "convolution has stride 1, as in keras-team/keras, keras/applications/mobilenet.py",
    )


def _resnet50():
    def conv(channels, kernel, stride=1, *, name):
        return Conv(channels, kernel, stride, padding=kernel // 2, bias=False, name=name)

    layers = [
        conv(64, 7, 2, name="conv1"),
        BatchNorm("bn1"),
        ReLU("relu"),
        Pool(3, 2, 1, "maxpool"),
    ]
    for stage, (blocks, channels, stride) in enumerate(RESNET50_STAGES, 1):
        for i in range(blocks):
            at, stride, wide = f"layer{stage}.{i}", 1 if i else stride, 4 * channels
            body = (
                conv(channels, 1, name=f"{at}.conv1"), BatchNorm(f"{at}.bn1"), ReLU(f"{at}.relu1"),
                conv(channels, 3, stride, name=f"{at}.conv2"), BatchNorm(f"{at}.bn2"),
                ReLU(f"{at}.relu2"), conv(wide, 1, name=f"{at}.conv3"), BatchNorm(f"{at}.bn3"),
            )  # fmt: skip
            shortcut = (
                conv(wide, 1, stride, name=f"{at}.downsample"), BatchNorm(f"{at}.downsample.bn"),
            )  # fmt: skip
            block = Residual(body, () if i else shortcut, name=f"{at}.add")
            layers += [block, ReLU(f"{at}.relu3")]
    return CNN(
        "ResNet-50",
        [*layers, GlobalPool("avgpool"), Dense(1000, name="fc")],
        source="He et al., arXiv:1512.03385, table 1; stride in the 3 x 3 convolutions (v1.5), as "
        "in pytorch/vision, torchvision/models/resnet.py",
    )
