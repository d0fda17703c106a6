"""Figures in roofkit/README.md that no doctest covers."""

import re
from pathlib import Path

from cases import cases

import roofkit as rk
from roofkit.models import Precision
from roofkit.models.llm.llm_viewer import DEPARTURES

TEXT = (Path(rk.__file__).parent / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)` \|.*\| ([-+.\d]+%) \| ([-+.\d]+%) \|$", TEXT, re.MULTILINE)
# Where the usual choices would hide the difference.
CHOICES = {
    "query_heads": {"attention": "unfused"},
    "one_peak": {"precision": Precision(weights="int8", activations="int8", kv="bf16")},
    "one_format": {"precision": Precision(weights="int8", activations="int8", kv="bf16")},
}


def test_the_table_has_every_difference_in_order():
    assert [name for name, *_ in ROWS] == list(DEPARTURES)


@cases(("name", "prefill", "decode"), ROWS)
def test_each_difference_changes_times_as_the_table_says(name, prefill, decode):
    choices = CHOICES.get(name, {})
    usual, changed = (
        rk.llm("Llama-3-8B").on("A6000", fused=False, convention=convention, **choices)
        for convention in ("roofkit", [name])
    )
    for stage, written in (("prefill", prefill), ("decode", decode)):
        ratio = getattr(changed, stage)(16, 2048).time / getattr(usual, stage)(16, 2048).time
        assert f"{100 * (ratio - 1):+.2f}%" == written
