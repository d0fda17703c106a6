"""What a cell says that is run before its notebook's set-up: to run the first code cell.

``etc/ipython`` of the environment loads this into the kernels of notebooks. A NameError is told in
one sentence if the notebook's first code cell brings the name; every other error is as ever.
"""

import json
import os
import symtable
from pathlib import Path

from roofcheck.sentences import sentence


def load_ipython_extension(shell):
    """Watch for names that a notebook's first code cell would have brought."""
    shell.set_custom_exc((NameError,), explain_name_error)


def explain_name_error(shell, kind, error, trace, tb_offset=None):
    """Show the error as IPython does, or in place of a traceback the sentence."""
    try:
        missing = error.name in names_of_first_cell(shell) and error.name not in shell.user_ns
    except (OSError, LookupError, TypeError, ValueError, SyntaxError):
        missing = False  # the notebook cannot be read, so nothing is known of it
    if missing:
        error._render_traceback_ = lambda: [sentence("first-cell.missing", name=error.name)]
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=True)


def names_of_first_cell(shell):
    """The names that the first code cell of the kernel's notebook binds."""
    notebook = json.loads(Path(os.environ["JPY_SESSION_NAME"]).read_text(encoding="utf-8"))
    [first, *_] = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    code = shell.transform_cell("".join(first["source"]))
    names = symtable.symtable(code, "first cell", "exec").get_symbols()
    return {name.get_name() for name in names if name.is_imported() or name.is_assigned()}
