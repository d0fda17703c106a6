"""Grades what students hand in: their code runs in a sandbox, and answers are judged outside it.

``python -m roofgrade ps1`` reads ``submitted/``, runs each notebook in a sandbox, judges its values
by the question tables, and saves points and messages with nbgrader's own code, so that Formgrader,
feedback and export work as usual. In the order in which a submission passes through them:

- ``course``: where a course keeps its files; ``intake``: the submitted files and their owners
- ``restore``: the released notebook with the student's answers put back
- ``sandbox``: a process without rights; ``judge``: runs a notebook there and judges its values
- ``run``: a grading run over a class, on the workers of this machine or of a cluster
- ``gradebook``: results in files and in nbgrader's database
- ``pages``: the pages people read; ``regrade_export``: regrading, late penalties, export
- ``commands``: the command line; ``common``: helpers that all of them use
"""

import sys

# On import, jsonschema builds a grammar of international addresses, which no notebook's schema
# uses. That takes longer than all other imports of a worker together.
sys.modules.setdefault("rfc3987_syntax", None)
