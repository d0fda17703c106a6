"""Grades what students hand in: their code runs in a sandbox, and its answers are judged outside.

``python -m roofgrade ps1`` takes in what lies in ``submitted/``, runs each notebook in a
sandbox, judges what comes out by the question tables, and saves grades and messages with
nbgrader's own code, so that gradebook, Formgrader, feedback and export serve as ever. In the order
of a submission's way:

- ``course``: where a course keeps what; ``intake``: what came in, and whose it is
- ``restore``: the released notebook with the student's answers put back in
- ``sandbox``: a process that can do no harm; ``judge``: runs a notebook there and judges, outside
  it, the values that come out
- ``run``: a grading run over a class, on the workers of this machine or of a cluster
- ``gradebook``: what is kept, in files and in nbgrader's database
- ``pages``: what people read; ``regrade_export``: regrading, late work, export
- ``commands``: the command line; ``common``: what all of them use
"""

import sys

# jsonschema builds a grammar of international addresses on import, for a format that no notebook's
# schema names. It takes longer than all other imports of a worker together.
sys.modules.setdefault("rfc3987_syntax", None)
