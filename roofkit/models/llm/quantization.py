"""Read the formats of a published checkpoint from its quantization_config."""

import re
from collections.abc import Mapping

# A checkpoint may keep these modules at 16 bits without changing our counts. Routers and norms,
# matched by the last part of a name, are small. lm_head and the embedding, matched by any part of a
# name, have 16 bits anyway. Vision modules, also matched by any part, aren't counted.
SMALL_MODULES = re.compile(r"(gate|\w*norm)$")
UNQUANTIZED_MODULES = re.compile(
    r"\b(lm_head|embed_tokens|router|vision_\w+|visual|multi_modal_projector)\b"
)
MODELOPT_FORMATS = {
    "FP8": {"weights": "fp8", "activations": "fp8"},
    "FP8_PER_CHANNEL_PER_TOKEN": {"weights": "fp8", "activations": "fp8"},
    "NVFP4": {"weights": "fp4", "activations": "fp4", "scales": (16, "fp8")},
    "W4A16_AWQ": {"weights": "int4", "scales": 128},
    "W4A8_AWQ": {"weights": "int4", "activations": "fp8", "scales": 128},
    "W8A16": {"weights": "int8"},
    "W8A8_SQ_PER_CHANNEL": {"weights": "int8", "activations": "int8"},
}


def read_stored_formats(fields):
    """Return a checkpoint's formats as ``Precision`` arguments; empty if all have 16 bits.

    Zero points, and scales of whole rows or matrices, are not counted. Raises ValueError for an
    unknown method, or if modules have another format that would change the counts.
    """
    config = fields.config.get("quantization_config")
    if not config:
        return {}
    if not isinstance(config, Mapping):
        fields.refuse("quantization_config", config, "it must be an object")
    method = config.get("quant_method")
    read = METHOD_READERS.get(method) if isinstance(method, str) else None
    if read is None:
        known = ", ".join(METHOD_READERS)
        why = f"known methods are {known}; remove it, and pass the formats to on() as precision="
        _refuse(fields, config, why)
    try:
        # Files written by modelopt itself have these fields one level deeper.
        config = {**config, **(config.get("quantization") or {})}
        formats = read(fields, config)
    except (TypeError, AttributeError):
        _refuse(fields, config, f"a value in it has the wrong type for {method}")
    for key in ("ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules",
                "llm_int8_skip_modules"):  # fmt: skip
        names = config.get(key) or ()
        if not isinstance(names, list | tuple):
            _refuse(fields, {key: names}, "it must be a list")
        for name in names:
            if not _changes_nothing(str(name), formats):
                _refuse(fields, {key: name}, "all layers must be stored alike")
    return formats


def _refuse(fields, what, why):
    fields.refuse("quantization_config", dict(what), why)


def _changes_nothing(name, formats):
    if UNQUANTIZED_MODULES.search(name) or ("weights" not in formats and "self_attn" in name):
        return True
    plain = name.removeprefix("re:").removesuffix("$")
    return bool(SMALL_MODULES.search(plain if name.startswith("re:") else plain.rstrip(".*")))


def _read_fp8(fields, config):
    # A scale in fp32 is shared by a block of weights, usually 128 by 128, or a whole matrix.
    formats = {"weights": "fp8", "activations": "fp8"}
    block = _read_block(fields, config, "weight_block_size")
    return formats | ({"scales": (block, "fp32")} if block else {})


def _read_block(fields, config, key):
    """Return the number of weights in a block with one scale; 0 if there are no blocks."""
    sizes = config.get(key) or (0, 0)
    if not (isinstance(sizes, list | tuple) and [type(size) for size in sizes] == [int, int]):
        _refuse(fields, {key: sizes}, "it must be two whole numbers")
    return sizes[0] * sizes[1]


def _read_integers(fields, config):
    bits, group = config.get("bits"), config.get("group_size")
    if bits not in (4, 8):
        _refuse(fields, {"bits": bits}, "only 4 and 8 are known")
    for key in ("dynamic", "modules_in_block_to_quantize"):
        if config.get(key):
            _refuse(fields, {key: config[key]}, "all layers must be stored alike")
    formats = {"weights": f"int{bits}"} | ({"scales": group} if group and group > 0 else {})
    return formats | ({"lm_head": f"int{bits}"} if config.get("lm_head") else {})


def _read_mxfp4(fields, config):
    # Only the experts are quantised; every 32 of their weights share an 8-bit scale.
    return {"experts": "fp4", "expert_scales": (32, "fp8")}


def _read_bitsandbytes(fields, config):
    if not config.get("load_in_4bit"):
        # The few input columns that stay at 16 bits (LLM.int8, arXiv:2208.07339) aren't counted.
        return {"weights": "int8", "activations": "int8"}
    # Double quantisation stores scales in 8 bits. The scale shared by 256 of them isn't counted.
    scale_dtype = "int8" if config.get("bnb_4bit_use_double_quant") else "fp32"
    return {"weights": "int4", "scales": (64, scale_dtype)}


def _read_compressed_tensors(fields, config):
    if (config.get("sparsity_config") or {}).get("format", "dense") != "dense":
        _refuse(fields, {"sparsity_config": config["sparsity_config"]}, "weights must be dense")
    groups = config.get("config_groups")
    groups = list(groups.values()) if isinstance(groups, Mapping) else []
    if not groups or not all(isinstance(group, Mapping) for group in groups):
        _refuse(fields, {"config_groups": groups}, "it must specify how weights are stored")
    for group in groups:
        if group.get("targets", ["Linear"]) != ["Linear"]:
            _refuse(fields, {"targets": group["targets"]}, "all layers must be stored alike")
        if group != groups[0]:
            _refuse(fields, {"config_groups": groups}, "its groups differ")
    weights, inputs = groups[0].get("weights"), groups[0].get("input_activations")
    formats = {"weights": _read_format(fields, weights or {})}
    if inputs:
        formats["activations"] = _read_format(fields, inputs)
    group, block = weights.get("group_size"), _read_block(fields, weights, "block_structure")
    if group and group > 0:
        # Groups of 4-bit floats share an 8-bit scale; other groups share a 16-bit scale.
        formats["scales"] = (group, "fp8") if formats["weights"] == "fp4" else group
    elif block:
        formats["scales"] = block
    if not any("lm_head" in str(name) for name in config.get("ignore") or ()):
        formats["lm_head"] = formats["weights"]
    return formats | _read_cache_format(fields, config)


def _read_format(fields, of):
    kind, bits = of.get("type", "int"), of.get("num_bits")
    name = {"float": "fp", "int": "int"}.get(kind)
    if name is None or bits not in (4, 8):
        _refuse(fields, {"type": kind, "num_bits": bits}, "only 4- or 8-bit float or int is known")
    return f"{name}{bits}"


def _read_cache_format(fields, config):
    scheme = config.get("kv_cache_scheme")
    return {"kv": _read_format(fields, scheme)} if scheme else {}


def _read_modelopt(fields, config):
    formats = MODELOPT_FORMATS.get(config.get("quant_algo"))
    if formats is None:
        algorithm = {"quant_algo": config.get("quant_algo")}
        _refuse(fields, algorithm, f"known algorithms are {', '.join(MODELOPT_FORMATS)}")
    if "scales" in formats and config.get("group_size"):
        scales = formats["scales"]
        group = config["group_size"]
        formats = formats | {"scales": (group, scales[1]) if isinstance(scales, tuple) else group}
    cache = config.get("kv_cache_quant_algo")
    if cache not in (None, "FP8", "INT8"):
        _refuse(fields, {"kv_cache_quant_algo": cache}, "only FP8 and INT8 are known")
    return formats | ({"kv": cache.lower()} if cache else _read_cache_format(fields, config))


def _read_fbgemm(fields, config):
    return {"weights": "fp8", "activations": "fp8"}


METHOD_READERS = {
    "fp8": _read_fp8, "gptq": _read_integers, "awq": _read_integers, "mxfp4": _read_mxfp4,
    "bitsandbytes": _read_bitsandbytes, "compressed-tensors": _read_compressed_tensors,
    "modelopt": _read_modelopt, "fbgemm_fp8": _read_fbgemm,
}  # fmt: skip
