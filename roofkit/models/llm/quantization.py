"""What the weights of a published checkpoint are stored as, by its quantization_config."""

import re
from collections.abc import Mapping

# Modules that a checkpoint may leave at 16 bits without a change of our counts. Routers and norms
# are small, and known by the last part of their names. lm_head and the embedding are 16 bits wide
# anyway, and vision is not counted; these are known by any part of their names.
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
    """The formats of a checkpoint as choices of ``Precision``; empty where all has 16 bits.

    Zero points, and scales of whole rows or matrices, are left out. Raises ValueError for a method
    that is not known, and for modules left at 16 bits or stored otherwise that change costs.
    """
    how = fields.config.get("quantization_config")
    if not how:
        return {}
    if not isinstance(how, Mapping):
        fields.refuse("quantization_config", how, "it must be an object")
    method = how.get("quant_method")
    read = METHOD_READERS.get(method) if isinstance(method, str) else None
    if read is None:
        _refuse(fields, how, f"methods known are {', '.join(METHOD_READERS)}; drop it and name the "
                "formats where the model is served")  # fmt: skip
    try:
        # A file that modelopt wrote itself has these fields one level down.
        how = {**how, **(how.get("quantization") or {})}
        found = read(fields, how)
    except (TypeError, AttributeError):
        _refuse(fields, how, f"a value in it is not of the kind that {method} has")
    for key in ("ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules",
                "llm_int8_skip_modules"):  # fmt: skip
        names = how.get(key) or ()
        if not isinstance(names, list | tuple):
            _refuse(fields, {key: names}, "it must be a list")
        for name in names:
            if not _changes_nothing(str(name), found):
                _refuse(fields, {key: name}, "every layer is stored alike here")
    return found


def _refuse(fields, what, why):
    fields.refuse("quantization_config", dict(what), why)


def _changes_nothing(name, found):
    if UNQUANTIZED_MODULES.search(name) or ("weights" not in found and "self_attn" in name):
        return True
    plain = name.removeprefix("re:").removesuffix("$")
    return bool(SMALL_MODULES.search(plain if name.startswith("re:") else plain.rstrip(".*")))


def _read_fp8(fields, how):
    # Blocks of 128 by 128 weights share a scale in fp32; whole matrices share one otherwise.
    found = {"weights": "fp8", "activations": "fp8"}
    block = _read_block(fields, how, "weight_block_size")
    return found | ({"scales": (block, "fp32")} if block else {})


def _read_block(fields, how, key):
    """How many weights of a block share a scale; 0 where the config has no blocks."""
    sizes = how.get(key) or (0, 0)
    if not (isinstance(sizes, list | tuple) and [type(size) for size in sizes] == [int, int]):
        _refuse(fields, {key: sizes}, "it must be two whole numbers")
    return sizes[0] * sizes[1]


def _read_integers(fields, how):
    bits, group = how.get("bits"), how.get("group_size")
    if bits not in (4, 8):
        _refuse(fields, {"bits": bits}, "4 or 8 bits are known")
    for key in ("dynamic", "modules_in_block_to_quantize"):
        if how.get(key):
            _refuse(fields, {key: how[key]}, "every layer is stored alike here")
    found = {"weights": f"int{bits}"} | ({"scales": group} if group and group > 0 else {})
    return found | ({"lm_head": f"int{bits}"} if how.get("lm_head") else {})


def _read_mxfp4(fields, how):
    # Only the experts are quantised; 32 of their weights share a scale of 8 bits.
    return {"experts": "fp4", "expert_scales": (32, "fp8")}


def _read_bitsandbytes(fields, how):
    if not how.get("load_in_4bit"):
        # The few columns of the inputs that stay at 16 bits (LLM.int8, arXiv:2208.07339) are not
        # counted.
        return {"weights": "int8", "activations": "int8"}
    # Scales that are quantised again have 8 bits. The second scale, which 256 of them share, is
    # left out.
    return {"weights": "int4",
            "scales": (64, "int8" if how.get("bnb_4bit_use_double_quant") else "fp32")}  # fmt: skip


def _read_compressed_tensors(fields, how):
    if (how.get("sparsity_config") or {}).get("format", "dense") != "dense":
        _refuse(fields, {"sparsity_config": how["sparsity_config"]}, "all weights are stored")
    groups = how.get("config_groups")
    groups = list(groups.values()) if isinstance(groups, Mapping) else []
    if not groups or not all(isinstance(group, Mapping) for group in groups):
        _refuse(fields, {"config_groups": groups}, "it has to say how weights are stored")
    for group in groups:
        if group.get("targets", ["Linear"]) != ["Linear"]:
            _refuse(fields, {"targets": group["targets"]}, "every layer is stored alike here")
        if group != groups[0]:
            _refuse(fields, {"config_groups": groups}, "its groups differ")
    weights, inputs = groups[0].get("weights"), groups[0].get("input_activations")
    found = {"weights": _read_format(fields, weights or {})}
    if inputs:
        found["activations"] = _read_format(fields, inputs)
    group, block = weights.get("group_size"), _read_block(fields, weights, "block_structure")
    if group and group > 0:
        # Groups of 4-bit floats share a scale of 8 bits, others one of 16.
        found["scales"] = (group, "fp8") if found["weights"] == "fp4" else group
    elif block:
        found["scales"] = block
    if not any("lm_head" in str(name) for name in how.get("ignore") or ()):
        found["lm_head"] = found["weights"]
    return found | _read_cache_format(fields, how)


def _read_format(fields, of):
    kind, bits = of.get("type", "int"), of.get("num_bits")
    name = {"float": "fp", "int": "int"}.get(kind)
    if name is None or bits not in (4, 8):
        _refuse(fields, {"type": kind, "num_bits": bits}, "float or int of 4 or 8 bits are known")
    return f"{name}{bits}"


def _read_cache_format(fields, how):
    scheme = how.get("kv_cache_scheme")
    return {"kv": _read_format(fields, scheme)} if scheme else {}


def _read_modelopt(fields, how):
    found = MODELOPT_FORMATS.get(how.get("quant_algo"))
    if found is None:
        _refuse(
            fields,
            {"quant_algo": how.get("quant_algo")},
            f"known are {', '.join(MODELOPT_FORMATS)}",
        )
    if "scales" in found and how.get("group_size"):
        scales = found["scales"]
        group = how["group_size"]
        found = found | {"scales": (group, scales[1]) if isinstance(scales, tuple) else group}
    cache = how.get("kv_cache_quant_algo")
    if cache not in (None, "FP8", "INT8"):
        _refuse(fields, {"kv_cache_quant_algo": cache}, "FP8 and INT8 are known")
    return found | ({"kv": cache.lower()} if cache else _read_cache_format(fields, how))


def _read_fbgemm(fields, how):
    return {"weights": "fp8", "activations": "fp8"}


METHOD_READERS = {
    "fp8": _read_fp8, "gptq": _read_integers, "awq": _read_integers, "mxfp4": _read_mxfp4,
    "bitsandbytes": _read_bitsandbytes, "compressed-tensors": _read_compressed_tensors,
    "modelopt": _read_modelopt, "fbgemm_fp8": _read_fbgemm,
}  # fmt: skip
