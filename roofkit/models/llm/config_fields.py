"""Read a config.json field by field, and reject missing or unread fields."""

import re

ACTIVATIONS = {
    "silu": "silu", "swish": "silu", "swiglu": "silu", "gelu": "gelu", "gelu_new": "gelu",
    "gelu_fast": "gelu", "gelu_pytorch_tanh": "gelu", "relu": "relu",
}  # fmt: skip
# A field with a costly word in its name may change the model's shape, so it must not be silently
# ignored. A harmless word in the same name means that the field affects no cost.
COSTLY_WORDS = re.compile(
    r"lora|experts?|moe|latent|windows?|bias(es)?|(layer)?norms?|vision|audio|mamba|ssm|conv|sparse"
    r"|alibi|bits|mlps?|ffn|heads?|tied?|pattern|layers?|inner|proj|parallel|gated?|glu|adapters?"
    r"|cross|encoder|query|bidirectional"
)
HARMLESS_WORDS = re.compile(
    r"eps|epsilon|dropout|drop|pdrop|layerdrop|std|range|coef|loss|alpha|prob|ids?|rope|scaling"
    r"|scalar|softcap(ping)?|version|cache|func|method|group|summary|output|return|name|type|dtype"
)


class ConfigFields:
    """The fields of a config, and a record of which fields were read.

    ``usual`` contains the family's defaults for absent keys. A null key is not absent: null means
    that the model does not have the feature.
    """

    def __init__(self, config, name, source, usual):
        for field in config:
            if not isinstance(field, str):
                raise ValueError(f"{name}: the config's key {field!r} must be text")
        self.config, self.name, self.source = {**usual, **config}, name, source
        self._read = {
            "model_type",
            "architectures",
            "quantization_config",
            "gradient_checkpointing",
        }

    def __getitem__(self, field):
        value = self.size(field, least=1)
        if value is None:
            raise ValueError(f"{self.name}: the config lacks {field!r}, which its costs depend on")
        return value

    def get(self, field, default=None):
        self._read.add(field)
        value = self.config.get(field)
        return default if value is None else value

    def size(self, field, default=None, least=0):
        """Return a whole number, or the default if the field is absent or null."""
        value = self.get(field, default)
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int) or value < least
        ):
            raise ValueError(
                f"{self.name}: {field}={value!r} must be a whole number of at least {least}"
            )
        return value

    def list(self, field, of):
        """Return a list whose elements have the type ``of``, or None."""
        value = self.get(field)
        if value is not None and not (
            isinstance(value, list | tuple) and all(type(element) is of for element in value)
        ):
            raise ValueError(f"{self.name}: {field}={value!r} must be a list of {of.__name__}")
        return value

    def flag(self, field, default=False):
        value = self.get(field, default)
        if not isinstance(value, bool):
            raise ValueError(f"{self.name}: {field}={value!r} must be true or false")
        return value

    def refuse(self, field, value, why):
        raise ValueError(f"{self.name}: {field}={value!r} is not modelled: {why}")

    def expect(self, field, *values, why):
        """Reject a field with any other value than these; a missing field has the first value."""
        value = self.get(field, values[0])
        if value not in values:
            self.refuse(field, value, why)

    def activation(self, field, default):
        function = self.get(field, default)
        if not isinstance(function, str) or function not in ACTIVATIONS:
            self.refuse(field, function, f"known functions are {', '.join(ACTIVATIONS)}")
        return ACTIVATIONS[function]

    def ignore(self, *names):
        """Mark fields as read, because they do not affect costs in this family."""
        self._read.update(names)

    def refuse_unread(self, model):
        """Raise ValueError for an unread field whose name suggests a cost that is not counted.

        A false field matters only if the ``model`` has the feature that the field turns off.
        """
        biases = model.qkv_bias or model.mlp_bias or model.norm_vectors == 2
        features = {"bias": biases, "gated": model.gated, "gate": model.gated, "glu": model.gated,
                    "parallel": model.parallel}  # fmt: skip
        for field, value in self.config.items():
            words = field.casefold().split("_")
            if field in self._read or field.startswith("_"):
                continue
            if not (value or (value is False and any(features.get(word) for word in words))):
                continue
            if any(map(COSTLY_WORDS.fullmatch, words)) and not any(
                map(HARMLESS_WORDS.fullmatch, words)
            ):
                self.refuse(field, value, f"a {self.config['model_type']} has no such field here")
