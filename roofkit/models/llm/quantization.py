"""What the weights of a published checkpoint are stored as, by its quantization_config."""

from collections.abc import Mapping


def stored(fields):
    """The formats of a checkpoint as choices of ``Precision``; empty where all has 16 bits.

    Raises ValueError for a method that is not known.
    """
    how = fields.config.get("quantization_config")
    if not how:
        return {}
    if not isinstance(how, Mapping):
        fields.refuse("quantization_config", how, "it must be an object")
    method = how.get("quant_method")
    if method == "fp8":
        # Blocks of 128 by 128 weights share a scale in fp32; whole matrices share one otherwise.
        rows, columns = how.get("weight_block_size") or (0, 0)
        found = {"weights": "fp8", "activations": "fp8"}
        return found | ({"scales": (rows * columns, "fp32")} if rows else {})
    if method in ("gptq", "awq"):
        bits, group = how.get("bits"), how.get("group_size")
        if bits not in (4, 8):
            fields.refuse("quantization_config", dict(how), "4 or 8 bits are known")
        return {"weights": f"int{bits}"} | ({"scales": group} if group and group > 0 else {})
    if method == "mxfp4":
        # Experts alone, 32 weights with a scale of 8 bits.
        return {"experts": "fp4", "scales": (32, "fp8")}
    if method == "bitsandbytes":
        if how.get("load_in_4bit"):
            return {"weights": "int4", "scales": (64, "fp32")}
        return {"weights": "int8"}
    fields.refuse("quantization_config", dict(how),
                  "methods known are fp8, gptq, awq, mxfp4 and bitsandbytes; drop it and name the "
                  "formats where the model is served")  # fmt: skip
