"""What tools say to students and audiences comes from a table that can be replaced."""

import json

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools import lab
from tools import sentences as wording
from tools.site import downloads, folding


@pytest.fixture(autouse=True)
def _translated(tmp_path, monkeypatch):
    """A table in which every sentence stands in angle quotes."""
    sentences = wording.sentence.templates().items()
    written = [f"{json.dumps(key)} = {json.dumps(f'«{text}»')}\n" for key, text in sentences]
    (tmp_path / "en.toml").write_text("".join(written), encoding="utf-8")
    monkeypatch.setattr(wording.sentence, "folder", tmp_path)


def test_the_menu_of_the_course(tmp_path):
    for name in ("site/index.html", "slides/one.html"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("<title>One</title>")
    assert [page["text"] for page in lab.list_built_pages(tmp_path)] == ["«Pages»", "«Slides: One»"]


def test_what_a_page_says_for_a_notebook():
    picture = new_output("display_data", {"text/html": "<img>"})
    cells = [
        new_code_cell('check("l02.ridge", 240)', id="a"), new_code_cell("", id="l01-how"),
        new_code_cell("", id="b", metadata={"tags": ["setup"]}),
        new_code_cell("", id="c", metadata={"tags": ["reveal"]}, outputs=[picture]),
    ]  # fmt: skip
    folding.fold_cells(new_notebook(cells=cells), "n.ipynb")
    assert cells[0].outputs[0].data["text/html"].startswith("«")
    assert "n.ipynb" in cells[0].outputs[0].data["text/html"]
    assert cells[1].source.startswith("«Answers")
    assert cells[2].metadata.mystnb["code_prompt_show"] == "«Code»"
    assert 'id="c"' in cells[3].outputs[0].data["text/html"]


def test_the_decks_of_the_site(tmp_path):
    (tmp_path / "one.html").write_text("<title>One</title>")
    (tmp_path / "one.pdf").write_bytes(b"")
    taken = downloads.copy_decks(tmp_path, tmp_path / "into")
    assert list(taken["one"]["files"]) == ["«Slides»", "«PDF of the slides»"]
