"""Settings of the ``llm`` command that ``--set group.name=value`` changes."""

import click

# The type of each setting's value, by group.
SETTINGS = {
    "precision": dict.fromkeys(
        ("weights", "experts", "activations", "stream", "kv", "travel", "embedding", "lm_head"), str
    ) | {"scales": int, "expert_scales": int},
    "split": {"tensor": int, "pipeline": int, "data": int, "expert": int, "kv_heads": str},
    "links": {"topology": click.Choice(["ring", "line", "switch", "all-pairs"]),
              "nodes": click.IntRange(1), "card": float, "pipeline": float, "latency": bool,
              "in_network": bool},
    "count": {"fused": bool, "attention": str, "convention": str, "unconfirmed": bool},
    "memory": {"reserve": float, "chunk": float},
    "pass": {"new": float, "cached": float},
    "limit": {"tokens_per_second": float, "per_token": float, "first_token": float},
}  # fmt: skip
EPILOG = "\b\nSettings, as group.name=value (seconds; bytes/s, one way):\n" + "".join(
    f"  {group}: {', '.join(names)}\n" for group, names in SETTINGS.items()
)


class SettingType(click.ParamType):
    """A setting as (group, name, value)."""

    name = "GROUP.NAME=VALUE"

    def convert(self, value, param, ctx):
        setting, equals, text = value.partition("=")
        group, _, name = setting.partition(".")
        name = name.replace("-", "_")
        kind = SETTINGS.get(group, {}).get(name)
        if not equals or kind is None:
            known = ", ".join(SETTINGS.get(group, SETTINGS))
            what = f"{group} has {known}" if group in SETTINGS else f"the groups are {known}"
            self.fail(f"{value!r} is no setting, as group.name=value; {what}", param, ctx)
        return group, name, click.types.convert_type(kind).convert(text, param, ctx)
