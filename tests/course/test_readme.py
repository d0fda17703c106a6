"""The README's picture is the one roofkit draws today."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_describes_the_picture_that_roofkit_draws():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (alt, target) = re.search(r"!\[(.*?)\]\((.*?)\)", readme).groups()
    picture = runpy.run_path(str(ROOT / "tools" / "picture.py"))["draw"]()
    assert alt == picture.alt
    assert (ROOT / target).read_bytes().startswith(b"\x89PNG")


def test_the_readme_lists_every_problem_set_with_its_points():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `(ps\d)` \|.*\| (\d+) \|.*\|$", readme, re.M))
    titles = [path.read_text(encoding="utf-8") for path in ROOT.glob("solutions/text/*.md")]
    assert listed == {
        re.search(r"ps\d", text)[0]: re.search(r"Total: (\d+) points", text)[1] for text in titles
    }
