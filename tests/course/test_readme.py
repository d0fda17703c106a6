"""What the documents say of the repository is so: picture, links, paths."""

import io
import re
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import yaml

from tools.site.cards import draw_readme_picture

ROOT = Path(__file__).resolve().parents[2]
LISTED = subprocess.run(
    ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.split()
TRACKED = {*LISTED, *(str(folder) for file in LISTED for folder in Path(file).parents)}
# The texts of notebooks and of the site's pages have links that are right where they are built.
TEXTS = ("course/text/", "solutions/text/", "tools/site/pages/")
DOCUMENTS = [ROOT / name for name in LISTED if name.endswith(".md") and not name.startswith(TEXTS)]
# What the kit's documents link is where the kit has it.
KIT = ROOT / "tools/kit"
# A path is a word in backticks with a slash or with the ending of a file; in it, N after ps or
# alone, words in capitals and "topic" stand for anything.
PATH = re.compile(r"(?<!`)`((?!/)[\w.*/-]+)`(?!`)")
FILE = re.compile(r".*/.*|.+\.(py|toml|md|js|css|txt|json|ipynb|sh|lock|yml|yaml|csv|cff)")
PLACEHOLDER = re.compile(r"(?<=ps)N|NN|[A-Z]{2,}(?!\.md)|topic")
# What no clone has: what students hand in, what is in their homes, in translations, elsewhere.
ELSEWHERE = {
    "ps1-ID.ipynb", "timestamp.txt", ".roofkit/answers.jsonl", "config.json",
    "questions/zh/l01.toml", "words/zh.toml", "data/profiling",
    "h100_sxm/comm/nccl/2.29.2", "a100_sxm/comm/nccl/2.27.3",
}  # fmt: skip


def test_the_readmes_picture_shows_what_roofkit_draws_today():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    alt, target = re.search(r"!\[(.*?)\]\((.*?)\)", readme).groups()
    assert 40 < len(alt) < 160
    drawn = draw_readme_picture()
    kept = plt.imread(ROOT / target)
    assert np.abs(plt.imread(io.BytesIO(drawn)) - kept).mean() < 0.01


def test_changelog_and_citation_have_the_packages_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version, day = re.search(r"^## \[(\d[^]]*)\] - (\S+)$", changes, re.M).groups()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert version == str(citation["version"]) == project["version"]
    assert day == str(citation["date-released"])


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_between_documents_leads_somewhere(path):
    folder = ROOT if path.parent == KIT else path.parent
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", path.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        linked = folder / name if name else path
        assert linked.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.M)
            assert anchor in {
                re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings
            }, target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_path_that_a_document_names_is_there(path):
    missing = {
        name
        for name in PATH.findall(path.read_text(encoding="utf-8"))
        if FILE.fullmatch(name) and name not in ELSEWHERE and not is_there(name, path.parent)
    }
    # What git ignores is made in use.
    ignored = subprocess.run(
        ["git", "check-ignore", "--stdin"],
        cwd=ROOT, input="\n".join(missing), capture_output=True, text=True,
    )  # fmt: skip
    assert missing - {*ignored.stdout.split()} == set()


def is_there(name, folder):
    """Whether a path is one from a document's folder or the repository's; a file, also by name."""
    pattern = PLACEHOLDER.sub("*", name.rstrip("/"))
    places = [pattern, (folder.relative_to(ROOT) / pattern).as_posix()]
    places += [] if "/" in name else [f"*/{pattern}"]
    return any(fnmatch(file, place) for file in TRACKED for place in places)
