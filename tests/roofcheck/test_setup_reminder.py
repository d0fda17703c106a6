"""A cell that is run before its notebook's set-up says which to run; other errors are as ever."""

import contextlib
import io
import re

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from roofcheck.handin import setup_reminder

SETUP = """import numpy as np
%pip --version
try:
    from roofcheck import check
except ImportError:
    check = None
"""


def said(shell, code):
    """What a cell shows, without colours and the numbers of cells."""
    with contextlib.redirect_stdout(shown := io.StringIO()):
        shell.run_cell(code)
    return re.sub(r"\x1b\[[\d;]*m|In\[\d+\]", "", shown.getvalue())


@pytest.fixture
def shells(tmp_path, monkeypatch):
    """A shell as a kernel of a notebook has it, and one without the extension."""
    cells = [nbformat.v4.new_markdown_cell("# np"), nbformat.v4.new_code_cell(SETUP)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "one.ipynb")
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "one.ipynb"))
    config = Config(HistoryManager={"enabled": False})
    told, plain = (InteractiveShell(config=config) for _ in range(2))
    setup_reminder.load_ipython_extension(told)
    return told, plain


@pytest.mark.parametrize("code", ["np.ones(3)", "check(1)", "def f():\n    check(1)\nf()"])
def test_it_names_the_first_cell_for_what_that_would_load(shells, code):
    told, plain = shells
    assert "Traceback" in said(plain, code)
    [line] = said(told, code).splitlines()
    assert line.startswith("First run the first code cell of this notebook, which loads ")


@pytest.mark.parametrize("code", [
    "1 / 0",
    "def f():\n    return chekc(1)\nf()",
    "np = 1\nnp.ones",
    "raise NameError('np')",
    "np = 1\nexec('np', {})",  # it is there, and missing elsewhere
])  # fmt: skip
def test_every_other_error_is_as_ever(shells, code):
    told, plain = shells
    assert (shown := said(plain, code))
    assert said(told, code) == shown


def test_a_notebook_that_cannot_be_read_changes_nothing(shells, tmp_path):
    told, plain = shells
    for spoil in (lambda path: path.write_text("{"), lambda path: path.unlink()):
        spoil(tmp_path / "one.ipynb")
        assert said(told, "np") == said(plain, "np")
