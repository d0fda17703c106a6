"""Load the extension that says which cell of a course notebook to run first."""

import os

c = get_config()  # noqa: F821  IPython provides it

# Only kernels of a Jupyter server know their notebook.
if "JPY_SESSION_NAME" in os.environ:
    c.InteractiveShellApp.extensions.append("roofcheck.handin.setup_reminder")
