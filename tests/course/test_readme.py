"""What the documents say of the repository is so: picture, points, links."""

import io
import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


DOCUMENTS = sorted(path for name in ("*.md", "*/README.md") for path in ROOT.glob(name))


def test_the_readmes_picture_shows_what_roofkit_draws_today(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    alt, target = re.search(r"!\[(.*?)\]\((.*?)\)", readme).groups()
    assert 40 < len(alt) < 160
    drawn = runpy.run_path(str(ROOT / "tools" / "picture.py"))["draw"]()
    kept = plt.imread(ROOT / target)
    assert np.abs(plt.imread(io.BytesIO(drawn.content)) - kept).mean() < 0.01


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_between_documents_leads_somewhere(path):
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", path.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        linked = path.parent / name if name else path
        assert linked.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.M)
            assert anchor in {
                re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings
            }, target
