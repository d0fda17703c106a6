"""Tell students to run the first code cell when a name from it is missing.

A file in the environment's ``etc/ipython`` loads this into notebook kernels. If a cell raises
NameError for a name that the first code cell defines, one sentence replaces the traceback.
"""

import json
import os
import symtable
from pathlib import Path

from roofcheck.sentences import sentence


def load_ipython_extension(shell):
    """Handle NameError for names that the notebook's first code cell defines."""
    shell.set_custom_exc((NameError,), explain_name_error)


def explain_name_error(shell, kind, error, trace, tb_offset=None):
    """Show a one-sentence reminder or, for any other error, IPython's usual traceback."""
    try:
        bound = find_names_bound_by_first_cell(shell)
        missing = error.name in bound and error.name not in shell.user_ns
    except (OSError, LookupError, TypeError, ValueError, SyntaxError):
        missing = False  # the notebook can't be read
    if missing:
        error._render_traceback_ = lambda: [sentence("first-cell.missing", name=error.name)]
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=True)


def find_names_bound_by_first_cell(shell):
    """Return the names that the first code cell of the kernel's notebook defines."""
    notebook = json.loads(Path(os.environ["JPY_SESSION_NAME"]).read_text(encoding="utf-8"))
    [first, *_] = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    code = shell.transform_cell("".join(first["source"]))
    names = symtable.symtable(code, "first cell", "exec").get_symbols()
    return {name.get_name() for name in names if name.is_imported() or name.is_assigned()}
