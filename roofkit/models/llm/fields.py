"""The fields of a config.json, asked for by name: none is missing or ignored without a word."""

import re

ACTIVATIONS = {
    "silu": "silu", "swish": "silu", "swiglu": "silu", "gelu": "gelu", "gelu_new": "gelu",
    "gelu_fast": "gelu", "gelu_pytorch_tanh": "gelu", "relu": "relu",
}  # fmt: skip
# Words of names that tell of other shapes, so that a field with one of them must not be ignored,
# and words that tell that costs do not follow from it.
COSTLY = re.compile(
    r"lora|expert|moe|latent|window|bias|norm|vision|audio|mamba|ssm|conv|sparse|alibi|bits|mlp|ffn"
    r"|head|tie|pattern|layer|n_inner|proj|parallel|gate|adapter|cross|encoder|per_layer|multi_query"
)
HARMLESS = re.compile(
    r"eps|dropout|drop$|pdrop|std|range|coef|loss|alpha|prob|_id$|ids$|rope|scal|softcap|_version"
    r"|cache|func|method|group$|^summary|output_|return_|_name|swiglu_limit|_type$|dtype"
)


class Fields:
    """A config's fields; remembers which were read."""

    def __init__(self, config, name, source):
        self.config, self.name, self.source = config, name, source
        self._read = {
            "model_type",
            "architectures",
            "quantization_config",
            "gradient_checkpointing",
        }

    def __getitem__(self, field):
        value = self.get(field)
        if value is None:
            raise ValueError(f"{self.name}: the config has no {field!r}, which its costs need")
        return value

    def get(self, field, default=None):
        self._read.add(field)
        value = self.config.get(field)
        return default if value is None else value

    def flag(self, field, default=False):
        value = self.get(field, default)
        if not isinstance(value, bool):
            raise ValueError(f"{self.name}: {field}={value!r} must be true or false")
        return value

    def refuse(self, field, value, why):
        raise ValueError(f"{self.name}: {field}={value!r} is not modelled: {why}")

    def expect(self, field, *values, why):
        """Refuse a field that has another value than these; the first is that of a missing one."""
        value = self.get(field, values[0])
        if value not in values:
            self.refuse(field, value, why)

    def activation(self, field, default):
        function = self.get(field, default)
        if function not in ACTIVATIONS:
            self.refuse(field, function, f"known are {', '.join(ACTIVATIONS)}")
        return ACTIVATIONS[function]

    def pass_over(self, *names):
        """Say that these fields change no cost of this family."""
        self._read.update(names)

    def refuse_what_was_not_read(self):
        """Raise ValueError for a field that is set, tells of other costs by its name, and was not
        read."""
        for field, value in self.config.items():
            if field in self._read or not value or field.startswith("_"):
                continue
            if COSTLY.search(field) and not HARMLESS.search(field):
                self.refuse(field, value, f"a {self.config['model_type']} has no such field here")
