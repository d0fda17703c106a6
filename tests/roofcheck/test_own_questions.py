"""Questions of an instructor's own folder."""

import pytest

from roofcheck import check
from roofcheck.tables.catalogue import find_question, load_questions

OWN = """
from roofcheck.kinds import Order
own = Order(asks="Order A, B and C.", points=2, items=("A", "B", "C"), key="BCA".index)
QUESTIONS = {"ps1.order": own, "ps9.own": own}
"""


def test_own_questions_join_the_table_and_replace_those_of_their_name(tmp_path, monkeypatch):
    written = find_question("ps1.order")
    (tmp_path / "exam.py").write_text(OWN, encoding="utf-8")
    monkeypatch.setenv("ROOFKIT_QUESTIONS", str(tmp_path))
    assert check("ps9.own", "BCA") == 2
    assert find_question("ps1.order").reference() != written.reference()
    monkeypatch.delenv("ROOFKIT_QUESTIONS")
    assert "ps9.own" not in load_questions()
    assert find_question("ps1.order").reference() == written.reference()


def test_a_folder_that_is_none_or_a_file_without_questions_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFKIT_QUESTIONS", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="nowhere"):
        load_questions()
    (tmp_path / "empty.py").write_text("")
    monkeypatch.setenv("ROOFKIT_QUESTIONS", str(tmp_path))
    with pytest.raises(ValueError, match=r"empty\.py has no dict QUESTIONS"):
        load_questions()
