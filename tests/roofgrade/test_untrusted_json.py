"""What a student wrote comes in through one door, which lets in no more than can be held."""

import json
import re

import pytest
from homework import ROOT

from roofgrade.common import limits, untrusted_json

MEGABYTE = 1 << 20
SIZES = {"most": 8 * MEGABYTE, "most_values": 600_000}
HOUSE = ROOT / "roofgrade"
# Who else reads JSON, a notebook or a pickle, and what: nothing there is as a student made it.
OTHERS = {
    "gradebook/answer_release.py": "the solutions",
    "gradebook/database.py": "a note of this package in the gradebook",
    "gradebook/writer.py": "a graded notebook, written by outputs.format_notebook",
    "gradebook/registration.py": "the release",
    "judge/marking.py": "the release, and a graded notebook of outputs.format_notebook",
    "common/limits.py": "what a process of this package found",
    "restore/restored_notebook.py": "the release",
    "pages/similarity.py": "the release, and a graded notebook of outputs.format_notebook",
    "pages/feedback.py": "a graded notebook, written by outputs.format_notebook",
    "common/results.py": "a result, written by Result.to_json",
    "sandbox/inside/plain_values.py": "inside the sandbox",
    "sandbox/inside/channel.py": "messages of the warm Python, none of a student's process",
    "sandbox/launch.py": "the plan that this package starts a sandbox by",
}
READER = re.compile(
    r"\b(json|nbformat|v4|pickle)\.(loads?|reads?)\(|"
    r"\bfrom (json|pickle) import|\bimport reads?\b"
)
# Each is as long as a message may be.
HOSTILE = {
    "lists": b"[" + b"[]," * (8 * MEGABYTE // 3 - 2) + b"[]]",
    "objects": b"[" + b'{"":0},' * (8 * MEGABYTE // 7 - 2) + b"0]",
    "keys": b"{" + b",".join(b'"%07d":0' % n for n in range(700_000)) + b"}",
    "texts": b"[" + b'"",' * (8 * MEGABYTE // 3 - 2) + b'""]',
    "numbers": b"[" + b"7," * (4 * MEGABYTE - 4) + b"7]", "depth": b"[" * 8 * MEGABYTE,
    "a text without an end": b'["' + b'\\"' * (4 * MEGABYTE - 4), "quotes": b'"' * 8 * MEGABYTE,
}  # fmt: skip


def test_nobody_else_reads_what_a_student_wrote():
    found = {
        path.relative_to(HOUSE).as_posix()
        for path in HOUSE.rglob("*.py")
        if READER.search(path.read_text(encoding="utf-8"))
    }
    assert found == {*OTHERS, "common/untrusted_json.py"}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_message_takes_more_memory_than_there_is(name):
    with pytest.raises(untrusted_json.UnreadableError):
        limits.call_in_fork(
            lambda: untrusted_json.read(HOSTILE[name], **SIZES), room=160 * MEGABYTE
        )


@pytest.mark.parametrize(("raw", "why"), [
    (b"[]" * 100, "not JSON"),
    (b'{"a": 1', "not JSON"),
    (b"\xff\xfe\xfa", "not JSON"),
    (b"[" * 101 + b"]" * 101, "too deeply"),
    (b" " * 1_001, "more than 1,000 bytes"),
    (b"[" + b"1," * 200 + b"1]", "more than 200 values"),
    (b'{"a": ' * 40 + b"1" + b"}" * 40 + b",", "not JSON"),
    (b"1" * 5_000, "more than 1,000 bytes"),
])  # fmt: skip
def test_unreadable_text_is_refused_with_the_reason(raw, why):
    with pytest.raises(untrusted_json.UnreadableError, match=why):
        untrusted_json.read(raw, most=1_000, most_values=200)


@pytest.mark.parametrize("plain", [
    {"cells": [], "of": "ω, 中文, 😀", "n": [1, 2.5, None, True]},
    ["a, b: [c] {d}" * 1_000],
    ["\\", '"', '\\"', "\\\\"] * 20,
])  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_honest_text_comes_in_as_it_is(plain, encoding, ascii_only):
    raw = json.dumps(plain, ensure_ascii=ascii_only).encode(encoding)
    assert untrusted_json.read(raw, most=1 << 20, most_values=200) == plain


def test_halves_of_a_pair_are_joined_or_replaced():
    assert untrusted_json.read(
        rb'["\ud83d\ude00", "\ud83d", {"\uDe00": 1}]', most=100, most_values=9
    ) == ["😀", "�", {"�": 1}]
