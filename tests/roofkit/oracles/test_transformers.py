"""roofkit's reading of a config.json against the model that transformers builds of it."""

import adapter
import families
import pytest
import torch_model

pytestmark = pytest.mark.weekly(
    "transformers builds the models that roofkit counts, in the same sizes"
)
CLAIMED = [family for family in adapter.families() if family in families.SMALL]
CONFIGS = [
    pytest.param({"model_type": family, **fields}, id=f"{family}-{number}")
    for family in CLAIMED
    for number, fields in enumerate(families.SMALL[family])
]
# Batch, new tokens, cached tokens.
PASSES = {"prefill": (2, 5, 0), "decode": (2, 1, 7), "chunk": (2, 3, 4)}
SOFTMAX = 5  # FLOPs a score, which PyTorch does not count


def test_every_family_that_is_claimed_has_a_config_here():
    assert set(adapter.families()) <= families.SMALL.keys()


@pytest.mark.parametrize("fields", CONFIGS)
def test_parameters_are_the_same(fields):
    assert adapter.parameters(fields) == torch_model.parameters(fields)


@pytest.mark.parametrize("fields", CONFIGS)
def test_a_config_is_read_as_transformers_writes_it(fields):
    """With every key there is, most of which change no cost."""
    written = {**torch_model.config_of(fields).to_dict(), "model_type": fields["model_type"]}
    assert adapter.parameters(written) == adapter.parameters(fields)


# For the first DeepSeek another family stands in, with defaults of its own.
@pytest.mark.parametrize("fields", [each for each in CONFIGS if each.id != "deepseek-0"])
def test_a_key_that_is_absent_means_what_transformers_takes_it_for(fields):
    """Left out one by one: refused, or read as if what transformers fills in were there."""
    for key in set(fields) - {"model_type"}:
        partial = {name: value for name, value in fields.items() if name != key}
        try:
            said = adapter.shape(partial)
        except ValueError:
            continue
        written = torch_model.config_of(partial).to_dict()
        assert said == adapter.shape({**written, "model_type": fields["model_type"]}), key


@pytest.mark.parametrize(
    ("config", "said"), adapter.published().values(), ids=adapter.published().keys()
)
def test_published_shapes_have_the_parameters_of_the_model(config, said):
    assert said == torch_model.parameters(config)


def compare_flops(fields, passed):
    found = torch_model.counted(fields, *PASSES[passed])
    said = adapter.flops_by_place(fields, *PASSES[passed])
    # PyTorch computes what the mask hides too; fused attention skips it, and does the softmax.
    said["attention"] -= SOFTMAX * found.scores
    if fields.get("kv_lora_rank") == 16 and passed != "prefill":
        # transformers makes K and V of every head from all that is cached; carrying takes less.
        made = found.projections + found.attention
        assert said["projections"] + said["attention"] < made
        del said["projections"], said["attention"]
    assert said == {place: getattr(found, place) for place in said}


@pytest.mark.parametrize("passed", PASSES)
@pytest.mark.parametrize("fields", CONFIGS)
def test_products_of_matrices_are_the_same(fields, passed):
    compare_flops(fields, passed)


@pytest.mark.parametrize("fields", CONFIGS)
def test_a_cache_holds_the_same(fields):
    batch, new, cached = PASSES["decode"]
    found = torch_model.counted(fields, batch, new, cached).cached
    # transformers drops of a window what the next token will not see, one key of each.
    windows = [window for window in adapter.windows(fields) if window is not None]
    layer = adapter.cache({**fields, "sliding_window": None}, batch, 1) / len(
        adapter.windows(fields)
    )
    dropped = layer * sum(cached + new >= window for window in windows)
    if fields["model_type"] == "falcon" and fields["new_decoder_architecture"]:
        # It keeps a copy of K and V for every query head.
        found //= fields["num_attention_heads"] // fields["num_kv_heads"]
    assert adapter.cache(fields, batch, cached + new) == found + dropped


def changed(family, changes):
    fields = {"model_type": family, **families.SMALL[family][0], **changes}
    return {name: value for name, value in fields.items() if value is not families.ABSENT}


def called(family, changes):
    first, value = next(iter(changes.items()))
    return f"{family} {'without ' if value is families.ABSENT else ''}{first}"


@pytest.mark.parametrize(("family", "changes"), [
    pytest.param(family, changes, id=called(family, changes))
    for family, changes in families.CHANGES
    if family in CLAIMED
])  # fmt: skip
def test_a_key_that_changes_costs_is_counted_or_refused(family, changes):
    fields = changed(family, changes)
    try:
        said = adapter.parameters(fields)
    except ValueError as refusal:
        assert any(field in str(refusal) for field in changes)  # noqa: PT017
        return
    assert said == torch_model.parameters(fields)
    compare_flops(fields, "prefill")
