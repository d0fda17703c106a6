"""Grades submitted notebooks: student code runs in a sandbox, and answers are judged outside it.

``python -m roofgrade ps1`` reads ``submitted/``, runs each notebook in the sandbox, judges its
values against the question tables, and saves points and messages with nbgrader's own code.
Formgrader, feedback and export therefore work as usual. The packages, in order of use:

- ``course``: the course's folders and settings; ``intake``: submitted files and their owners
- ``restore``: puts the student's answers back into the released notebook
- ``sandbox``: an unprivileged process; ``judge``: runs a notebook there and judges its values
- ``run``: grades a whole class, with workers on this machine or on a cluster
- ``gradebook``: stores results in files and in nbgrader's database
- ``pages``: HTML pages and tables; ``regrade_export``: regrading, late penalties and export
- ``commands``: the command line; ``common``: helpers for all packages
"""

import sys

# On import, jsonschema builds a grammar for international addresses. No notebook schema uses it,
# and it takes longer than all of a worker's other imports combined.
sys.modules.setdefault("rfc3987_syntax", None)
