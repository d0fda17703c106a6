"""Load the extension that reminds students to run a notebook's first code cell."""

import os

c = get_config()  # noqa: F821  IPython provides it

# Only kernels started by a Jupyter server know the path of their notebook.
if "JPY_SESSION_NAME" in os.environ:
    c.InteractiveShellApp.extensions.append("roofcheck.handin.setup_reminder")
