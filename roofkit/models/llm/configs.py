"""Language models from models.toml, by name, or from any Hugging Face config.json."""

import dataclasses
import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path

from roofkit._names import find_by_name, index_by_name, normalise_name
from roofkit._tables import format_html_table, format_text_table, to_frame
from roofkit._units import engineering
from roofkit.models.llm.config_fields import ConfigFields
from roofkit.models.llm.families import FAMILIES, FAMILY_DEFAULTS, UNSUPPORTED, VISION_FAMILIES
from roofkit.models.llm.model import LLM
from roofkit.models.llm.quantization import read_stored_formats

MODELS_TABLE = Path(__file__).with_name("models.toml")


class LLMTable(tuple):
    """A tuple of language models that is displayed as a table in terminals and notebooks.

    ``rows`` is the table as a list of dicts, and ``to_frame()`` returns a pandas DataFrame.
    """

    __slots__ = ()
    _HEAD = ("model", "parameters", "active", "layers", "hidden", "heads", "KV heads", "MLP",
             "vocabulary")  # fmt: skip
    _UNITS = ("",) * 9
    _SIZES = ("layers", "hidden", "heads", "kv_heads", "head_dim", "mlp", "experts",
              "experts_per_token", "expert_width", "vocabulary", "context")  # fmt: skip

    def _rows(self):
        for model in self:
            experts = f"{model.experts} × {model.expert_width}" if model.experts else f"{model.mlp}"
            yield [
                (model.name, model.source),
                engineering(model.parameters),
                engineering(model.active_parameters),
                *map(str, (model.layers, model.hidden, model.heads, model.kv_heads)),
                experts,
                str(model.vocabulary),
            ]

    @property
    def rows(self):
        """One dict per model with its sizes, parameter counts and source."""
        return [
            {
                "model": model.name,
                "parameters": model.parameters,
                "active_parameters": model.active_parameters,
                **{name: getattr(model, name) for name in self._SIZES},
                "source": model.source,
            }
            for model in self
        ]

    def to_frame(self):
        """Return the rows as a pandas DataFrame; requires pandas."""
        return to_frame(self.rows)

    def __repr__(self):
        return format_text_table(self._HEAD, self._UNITS, self._rows())

    def _repr_html_(self):
        return format_html_table(self._HEAD, self._UNITS, self._rows())


def llm(model):
    """Return a language model by name, or from a config.json given as a dict, a path or a folder.

    Names ignore case, spaces, hyphens and underscores. Raises ValueError for an unknown name,
    suggesting the nearest ones, or for a config with a missing field or an unsupported feature.

    >>> llm("llama-2-7b").parameters
    6738415616
    """
    if isinstance(model, LLM):
        return model
    if isinstance(model, Mapping):
        return from_config(model)
    if isinstance(model, Path) or (isinstance(model, str) and _is_path(model)):
        path = Path(model)
        return _read_config(path / "config.json" if path.is_dir() else path)
    if isinstance(model, str) and normalise_name(model) not in _index_models():
        kind = re.sub(r"[\W_]", "", model.rpartition("/")[2].casefold())
        for family, what in UNSUPPORTED.items():
            if kind.startswith(family.replace("_", "")):
                raise ValueError(f"{model} is not modelled: roofkit cannot count {what}")
    return find_by_name(model, _index_models(), "model")


def _is_path(text):
    return text.endswith(".json") or ("/" in text and Path(text).is_dir())


@functools.cache
def llms():
    """Return all language models in the table, as an LLMTable.

    >>> [model.name for model in llms() if model.stored]
    ['DeepSeek-V3', 'gpt-oss-20b', 'gpt-oss-120b']
    """
    table = _read_table()
    return LLMTable(
        from_config(
            dict.fromkeys(entry.get("null", ())) | entry["config"],
            entry["name"],
            source=table["sources"][entry["source"]],
        )
        for entry in table["llm"]
    )


@functools.cache
def _index_models():
    entries = zip(_read_table()["llm"], llms(), strict=True)
    return index_by_name(
        {
            name: model
            for entry, model in entries
            for name in (entry["name"], *entry.get("aliases", ()))
        }
    )


@functools.cache
def _read_table():
    import tomllib  # imported on demand, to keep ``import roofkit`` fast

    return tomllib.loads(MODELS_TABLE.read_text(encoding="utf-8"))


def _read_config(path):
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(config, Mapping):
        raise ValueError(f"{path} must contain a JSON object, got {type(config).__name__}")
    return from_config(config, source=str(path))


def from_config(config, name=None, *, source="given by the user"):
    """Return the LLM described by the fields of a Hugging Face config.json.

    ``model_type`` names the family, which determines everything that the config omits, such as
    biases. Raises ValueError naming the missing field or the unsupported feature.

    For a model that also processes images, only the text_config is read. Vision is not counted, and
    ``source`` says so.

    >>> from_config({"model_type": "llama", "hidden_size": 64, "intermediate_size": 256,
    ...              "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100}).heads
    4
    """
    family = config.get("model_type")
    family = family if isinstance(family, str) else None
    name = name or str(config.get("_name_or_path") or family or "config")
    if family in VISION_FAMILIES:
        return from_config(
            _find_text_config(config, name), name, source=f"{source}; without its vision part"
        )
    read = FAMILIES.get(family)
    if read is None:
        inner = config.get("text_config")
        inner = inner.get("model_type") if isinstance(inner, Mapping) else None
        missing = [UNSUPPORTED.get(str(kind).removesuffix("_text")) for kind in (family, inner)]
        if any(missing):
            why = f": roofkit cannot count {missing[0] or missing[1]}"
        elif inner:
            advice = "can be used alone" if inner in FAMILIES else "is not modelled either"
            why = f'. Its "text_config" has model_type={inner!r}, which {advice}'
        else:
            why = ". If the model has the same structure as one of these, use that model_type"
        raise ValueError(
            f"{name}: model_type={config.get('model_type')!r} is not modelled"
            + ("" if any(missing) else f"; known: {', '.join((*FAMILIES, *VISION_FAMILIES))}")
            + why
        )
    fields = ConfigFields(config, name, source, FAMILY_DEFAULTS.get(family, {}))
    model = read(fields)
    context = fields.size("max_position_embeddings", fields.size("n_positions", least=1), least=1)
    fields.refuse_unread(model)
    return dataclasses.replace(model, stored=read_stored_formats(fields), context=context)


def _find_text_config(config, name):
    """Return the text_config of a model that also processes images, plus two outer fields."""
    text = config.get("text_config")
    if not isinstance(text, Mapping) or text.get("model_type") not in [*FAMILIES]:
        raise ValueError(
            f"{name}: a {config['model_type']} needs a text_config with a model_type of "
            f"{', '.join(FAMILIES)}"
        )
    # Two fields outside the text_config also apply to it: how the weights are quantised, and
    # whether lm_head shares the embedding.
    outer = {
        key: config[key]
        for key in ("quantization_config", "tie_word_embeddings")
        if config.get(key) is not None
    }
    tied = "tie_word_embeddings"
    if tied in outer and text.get(tied, outer[tied]) != outer[tied]:
        raise ValueError(f"{name}: {tied}={outer[tied]!r}, but its text_config says otherwise")
    return {**text, **outer}
