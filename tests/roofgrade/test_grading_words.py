"""What instructors and students read is in the tables of sentences."""

import re

import pytest

from roofgrade.common.sentences import sentence
from roofgrade.sandbox.inside.sentences import sentence as inside


@pytest.mark.parametrize("table", [sentence, inside], ids=["outside", "inside"])
def test_every_sentence_that_is_looked_up_is_there(table):
    # What runs in the sandbox reads its own.
    files = [
        path
        for kind in ("*.py", "*.j2")
        for path in table.folder.parent.rglob(kind)
        if table is inside or "inside" not in path.parts
    ]
    code = "".join(path.read_text(encoding="utf-8") for path in files)
    asked = set(re.findall(r"""\b(?:words|sentence)\(\s*["']([\w.]+)["']""", code))
    assert asked
    assert asked <= set(table.templates())
