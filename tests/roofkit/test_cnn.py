"""Convolutional networks against published figures, against the kernels, and at their edges."""

import pickle

import numpy as np
import pytest
import sympy
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

import roofkit as rk
from roofkit.models.cnn.catalogue import cnn, cnns
from roofkit.models.cnn.layers import BatchNorm, Conv, GlobalPool, Pool, ReLU, Residual
from roofkit.models.cnn.network import CNN

GTX = rk.Roofline(11.3e12, 484e9)
# Many tables add up the parameters and the outputs of convolutions and fully connected layers.
PUBLISHED = {"inputs_read": False, "pooling": False}

names = st.sampled_from([network.name for network in cnns()])
few = settings(max_examples=12, derandomize=True)  # each example counts a whole network
batches = st.integers(1, 2**15)
dtypes = st.sampled_from(["fp32", "bf16", "int8", "int4"])
conventions = st.fixed_dictionaries(
    {
        "dtype": dtypes,
        "weight_dtype": st.none() | dtypes,
        "fma": st.sampled_from([1, 2]),
        "inputs_read": st.booleans(),
        "fused": st.booleans(),
        "pooling": st.booleans(),
    }
)


def _bytes(table):
    return sum(layer.weights for layer in table), sum(layer.activations for layer in table)


@cases(("name", "statistics"), [("VGG16", 0), ("MobileNetV1", 21_888), ("ResNet-50", 53_120)])
def test_statistics_of_batch_norms_are_the_published_ones_to_the_digit(name, statistics):
    assert cnn(name).moving_statistics == statistics


@cases(("name", "macs"), [("VGG16", 15.470e9), ("MobileNetV1", 0.5687e9), ("ResNet-50", 4.089e9)])
def test_multiply_adds_are_the_published_ones_and_flops_twice_as_many(name, macs):
    network = cnn(name)
    assert network.macs() == pytest.approx(macs, abs=5e5)
    assert network.cost().flops == 2 * network.macs()
    assert network.cost(fma=1).flops == network.macs()


@cases(
    ("name", "convention", "megabytes", "macs_a_byte", "flops_a_byte"),
    [
        ("VGG16", PUBLISHED, 607.7, 25.46, 50.9),
        ("VGG16", {}, 674.7, 22.93, 45.9),
        ("MobileNetV1", PUBLISHED, 37.1, 15.3, 30.7),
        ("MobileNetV1", {}, 57.9, 9.826, 19.65),
        ("MobileNetV1", {"inputs_read": False, "fused": False}, 77.4, 7.34, 14.69),
        ("MobileNetV1", {"fused": False}, 138.6, 4.10, 8.21),
    ],
)
def test_traffic_and_intensity_are_the_published_ones_in_each_convention(
    name, convention, megabytes, macs_a_byte, flops_a_byte
):
    flops, macs = cnn(name).cost(**convention), cnn(name).cost(fma=1, **convention)
    assert flops.bytes == macs.bytes == pytest.approx(megabytes * 1e6, abs=5e4)
    # To the digits printed above.
    assert macs.intensity == pytest.approx(macs_a_byte, abs=0.05 if macs_a_byte == 15.3 else 5e-3)
    assert flops.intensity == pytest.approx(flops_a_byte, abs=0.05)


def test_mobilenet_moves_4_232_million_parameters_and_5_045_million_outputs():
    weights, activations = _bytes(cnn("MobileNetV1").forward(GTX, inputs_read=False))
    assert weights == 4 * 4_231_976
    assert activations / 4 == 5_044_712


@cases(("name", "milliseconds", "teraflops"), [("MobileNetV1", 0.157, 7.2), ("VGG16", 3.81, 8.1)])
def test_layer_by_layer_a_gtx_1080_ti_is_slower_than_the_whole_net_suggests(
    name, milliseconds, teraflops
):
    table = cnn(name).forward("GTX 1080 Ti", on_chip=0)
    assert table.time * 1e3 == pytest.approx(milliseconds, rel=3e-3)
    assert table.flops / table.time / 1e12 == pytest.approx(teraflops, abs=0.05)


def test_global_pooling_makes_vgg16_5_24_times_as_intense():
    network = cnn("VGG16")
    pooled = network.with_global_pooling()
    ratio = pooled.cost(**PUBLISHED).intensity / network.cost(**PUBLISHED).intensity
    assert ratio == pytest.approx(5.24, abs=5e-3)
    assert pooled.parameters == 14_714_688 + 512 * 1000 + 1000
    assert [layer.name for layer in pooled.forward(GTX)][-3:] == ["pool5", "gap", "fc8"]
    assert network == cnn("VGG16")


@cases(
    ("layer", "read", "written", "parameters"),
    [
        (Pool(2, 2), 64 * 56 * 56, 64 * 28 * 28, 0),
        (Pool(3, 2, padding=1), 64 * 56 * 56, 64 * 28 * 28, 0),
        (GlobalPool(), 64 * 56 * 56, 64, 0),
        (BatchNorm(), 64 * 56 * 56, 64 * 56 * 56, 128),
        (ReLU(), 64 * 56 * 56, 64 * 56 * 56, 0),
        (Residual([], name="add"), 2 * 64 * 56 * 56, 64 * 56 * 56, 0),
    ],
)
def test_layers_without_multiply_adds_only_move_bytes(layer, read, written, parameters):
    network = CNN("one", [layer], (64, 56, 56))
    (row,) = network.forward(GTX, 3, fused=False)
    assert (row.flops, row.weights, row.activations) == (0, 4 * parameters, 12 * (read + written))
    (row,) = network.forward(GTX, 3, inputs_read=False)
    assert (row.flops, row.weights, row.activations) == (0, 4 * parameters, 12 * written)
    assert row.bound == "memory"
    assert network.parameters == parameters


def test_what_a_residual_block_needs_untouched_is_not_fused():
    # The shortcut reads the sum before batch norm and ReLU, so they write arrays of their own.
    before = (BatchNorm(), ReLU(), Conv(8, 3, padding=1, bias=False))
    network = CNN("v2", [Conv(8, 1), Residual(before)], (3, 32, 32))
    assert [layer.name for layer in network.forward(GTX)] == ["conv1", "bn1", "conv2"]
    after = (Conv(8, 3, padding=1, bias=False), BatchNorm())
    network = CNN("v1", [Conv(8, 1), Residual(after), ReLU()], (3, 32, 32))
    first, second = network.forward(GTX)
    assert (first.name, second.name) == ("conv1", "conv2")
    # The addition rides along, and reads the other operand.
    assert second.activations == 3 * 4 * 8 * 32 * 32


def test_resnet_50_has_53_convolutions_16_additions_and_its_stride_in_the_3_by_3():
    table = cnn("ResNet-50").forward(GTX)
    assert len(table) == 53 + 1 + 1 + 1
    first, second = table["layer2.0.conv1"], table["layer2.0.conv2"]
    assert first.flops == 2 * 56 * 56 * 256 * 128
    assert second.flops == 2 * 28 * 28 * 128 * 128 * 9
    plain = cnn("ResNet-50").forward(GTX, fused=False)
    assert plain["layer2.0.add"].activations == 3 * 4 * 28 * 28 * 512


@cases("fused", [True, False])
@cases(("weight_dtype", "size"), [(None, 2), ("fp32", 4), ("int4", 0.5)])
@cases("name", ["VGG16", "MobileNetV1", "ResNet-50"])
def test_every_parameter_is_read_once_at_the_precision_it_is_stored_in(
    name, weight_dtype, size, fused
):
    table = cnn(name).forward(GTX, 8, "bf16", weight_dtype=weight_dtype, fused=fused)
    assert _bytes(table)[0] == size * cnn(name).parameters


@few
@given(names, batches, conventions)
def test_a_table_adds_up_to_the_cost_of_the_whole(name, batch, convention):
    network = cnn(name)
    table, cost = network.forward(GTX, batch, **convention), network.cost(batch, **convention)
    assert (table.flops, table.bytes) == (cost.flops, cost.bytes)
    assert cost.flops == convention["fma"] * network.macs(batch)
    assert all(layer.kv == layer.link == 0 and layer.count == 1 for layer in table)


@few
@given(names, batches, conventions)
def test_images_add_activations_and_flops_but_no_weights(name, batch, convention):
    one, many = (cnn(name).forward(GTX, n, **convention) for n in (1, batch))
    for alone, together in zip(one, many, strict=True):
        assert together.flops == batch * alone.flops
        assert together.activations == batch * alone.activations
        assert together.weights == alone.weights


@few
@given(names, st.lists(batches, min_size=1, max_size=4), conventions)
def test_batches_in_an_array_agree_with_single_ones_to_the_last_bit(name, several, convention):
    network = cnn(name)
    swept = network.forward(GTX, np.array(several), **convention)
    alone = [network.forward(GTX, batch, **convention) for batch in several]
    for attribute in ("flops", "bytes", "time", "upper"):
        expected = [getattr(table, attribute) for table in alone]
        assert getattr(swept, attribute).tolist() == expected
    assert network.macs(np.array(several)).tolist() == [network.macs(batch) for batch in several]


@few
@given(names, batches, conventions)
def test_counting_macs_changes_neither_times_nor_bounds(name, batch, convention):
    macs, flops = (cnn(name).forward(GTX, batch, **convention | {"fma": fma}) for fma in (1, 2))
    assert macs.time == flops.time
    assert [layer.bound for layer in macs] == [layer.bound for layer in flops]
    assert [2 * layer.intensity for layer in macs] == [layer.intensity for layer in flops]


def test_a_chip_gives_the_peak_of_the_dtype():
    network, h100 = cnn("ResNet-50"), rk.chip("H100")
    for dtype in ("fp32", "bf16"):
        by_chip = network.forward(h100, 8, dtype)
        roof = h100.roofline(dtype)
        assert by_chip.time == network.forward(roof, 8, dtype, on_chip=h100.on_chip).time
        assert by_chip.time < network.forward(roof, 8, dtype).time
        assert by_chip.time == network.forward("H100", 8, dtype).time
        assert by_chip["conv1"].peak == h100.peak_flops(dtype)
    assert network.forward(h100).layers == network.forward(h100, dtype="fp32").layers


def test_rooflines_of_several_machines_broadcast_against_batches():
    roof = rk.Roofline(np.array([[11.3e12], [66.9e12]]), np.array([[484e9], [3.35e12]]))
    assert cnn("VGG16").forward(roof, np.array([1, 8, 64])).time.shape == (2, 3)


def test_an_intensity_in_symbols_tends_to_that_of_the_activations():
    n = sympy.Symbol("n", positive=True)
    cost = cnn("VGG16").cost(n)
    assert cost.intensity.subs(n, 8) == pytest.approx(cnn("VGG16").cost(8).intensity)
    assert sympy.limit(cost.intensity, n, sympy.oo) > cost.intensity.subs(n, 1000)


def test_an_unknown_network_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match="no network is named 'vgg19'; nearest: VGG16"):
        cnn("vgg19")


def test_the_networks_show_as_a_table():
    for shown in (repr(cnns()), cnns()._repr_html_()):
        for part in ("VGG16", "138,357,544", "15.5 G", "MobileNetV1", "ResNet-50", "3 × 224 × 224"):
            assert part in shown


def test_networks_are_values():
    network = cnn("ResNet-50")
    assert pickle.loads(pickle.dumps(network)) == network
    assert hash(network) == hash(cnn("resnet50"))
    assert network != cnn("VGG16")
    assert "layers" not in repr(network)


@cases(
    ("choices", "message"),
    [
        ({"batch": 0}, "batch must be"),
        ({"batch": True}, "batch must be"),
        ({"inputs_read": 1}, "inputs_read=1 must be True or False"),
        ({"fused": None}, "fused=None must be True or False"),
        ({"pooling": "yes"}, "pooling='yes' must be True or False"),
        ({"fma": 3}, "fma=3 must be 2"),
        ({"fma": True}, "fma=True must be 2"),
        ({"dtype": "fp31"}, "dtype='fp31' is not known; use one of fp64"),
        ({"weight_dtype": 32}, "weight_dtype=32 is not known; use one of fp64"),
        ({"chip": 11.3e12}, "chip must be a Chip, its name or a Roofline"),
    ],
)
def test_what_cannot_be_counted_is_refused(choices, message):
    for network in (cnn("VGG16"), CNN("norm", [BatchNorm()])):
        with pytest.raises(ValueError, match=message):
            network.forward(**{"chip": GTX} | choices)
        if "chip" not in choices:
            with pytest.raises(ValueError, match=message):
                network.cost(**choices)


def test_what_the_chip_keeps_of_a_tensor_between_layers_moves_nowhere():
    network = CNN("three", [Conv(8, 1), ReLU(), Conv(4, 1), Conv(2, 1)], (3, 10, 10))
    # 100 places an image: 300, 800, 400 and 200 bytes in and between the layers.
    by_part = [3 * 8 + 8, 8 * 4 + 4, 4 * 2 + 2]
    for on_chip, moved in (
        (0, [1100, 1200, 600]), (500, [300 + 300, 300, 200]), (1e9, [300, 0, 200]),
    ):  # fmt: skip
        table = network.forward(GTX, dtype="int8", on_chip=on_chip)
        assert [layer.activations for layer in table] == moved
        assert [layer.weights for layer in table] == by_part
    swept = network.forward(GTX, np.array([1, 2]), "int8", on_chip=np.array([[0], [500]]))
    assert swept["conv2"].activations.tolist() == [[1200, 2400], [300, 1400]]
    # The shortcut of a residual block stays where its output does.
    block = CNN("block", [Conv(8, 1), Residual((Conv(8, 1),))], (3, 10, 10))
    assert [layer.activations for layer in block.forward(GTX, dtype="int8", on_chip=500)] == [
        300 + 300, 300 + 300 + 800,
    ]  # fmt: skip
    with pytest.raises(ValueError, match="on_chip must be finite and at least 0, got -1"):
        network.forward(GTX, on_chip=-1)


@cases("field", ["channels", "kernel", "stride", "padding", "groups"])
@cases("bad", [-1, 0.5, 2.0, "3", None, True])
def test_a_bad_size_of_a_layer_is_named(field, bad):
    sizes = {"channels": 8, "kernel": 3} | {field: bad}
    with pytest.raises(ValueError, match=f"Conv: {field} must be a whole number of at least"):
        Conv(**sizes)


@cases("field", ["channels", "kernel", "stride", "groups"])
def test_of_a_layer_only_the_padding_may_be_zero(field):
    assert Conv(8, 3, padding=0).padding == 0
    with pytest.raises(ValueError, match=f"Conv: {field} must be .* at least 1, got 0"):
        Conv(**{"channels": 8, "kernel": 3} | {field: 0})


@cases(
    ("layers", "parts"),
    [
        ([], ("net has no layers",)),
        (None, ("net: layers and input must be sequences",)),
        ([Conv(8, 3, groups=2)], ("net: conv1: C_in=3", "groups=2")),
        ([Conv(8, 3), Conv(8, 31)], ("net: conv2: H=30", "K=31")),
        ([Pool(40, 1, name="big")], ("net: big: H=32", "K=40")),
        ([ReLU], ("is not a layer; use one of Conv, DepthwiseConv, Dense",)),
        ([Conv(8, 3, name="a"), ReLU("a")], ("net: 2 layers are named 'a'",)),
        ([Residual([Conv(8, 1)])], ("net: add1", "(8, 32, 32)", "(3, 32, 32)")),
        ([Residual([Conv(8, 3)], [Conv(8, 1)], "sum")], ("net: sum", "(8, 30, 30)")),
        ([Residual(["x"])], ("'x' is not a layer",)),
    ],
)
def test_layers_that_do_not_fit_are_named(layers, parts):
    with pytest.raises(ValueError, match="net") as refusal:
        CNN("net", layers, (3, 32, 32))
    for part in parts:
        assert part in str(refusal.value)


@cases("bad", [(3, 32), (3, 0, 32), (3, 32.0, 32), (True, 32, 32), 3, "abc"])
def test_a_bad_input_is_named(bad):
    with pytest.raises(ValueError, match=r"net: .*input must be"):
        CNN("net", [ReLU()], bad)


def test_a_residual_block_takes_sequences():
    with pytest.raises(ValueError, match="Residual: body must be a sequence of layers"):
        Residual(Conv(8, 3))


def test_a_network_without_a_fully_connected_layer_has_no_head_to_replace():
    with pytest.raises(ValueError, match="net has no fully connected layer"):
        CNN("net", [Conv(8, 3)]).with_global_pooling()
