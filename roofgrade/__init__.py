"""Grades what students hand in: their code runs in a sandbox, and its answers are judged outside.

``python -m roofgrade ps1`` takes in what lies in ``submitted/``, runs each notebook in a
sandbox, judges what comes out by the question tables, and saves grades and messages with
nbgrader's own code, so that gradebook, Formgrader, feedback and export serve as ever. In the order
of a submission's way:

- ``course``: where a course keeps what; ``intake``: what came in, and whose it is
- ``mend``: the release's notebook with the student's words in it
- ``sandbox``: a process that can do no harm; ``judge``: runs a notebook there and judges, outside
  it, the values that come out
- ``run``: a whole class, on the ``workers`` of this machine or of a ``cluster``; ``task``: what one
  of them is given, ``results``: what came of it
- ``book``: what is kept, in files and in nbgrader's gradebook
- ``pages``: what people read; ``after``: regrading, late work, export
- ``commands``: the command line
- for all of them: ``errors``, how grading one submission can end early; ``door``, through which a
  student's words come in; ``limits``, the memory and time that reading them may take; ``safe``,
  files without links; ``sheets``, CSV files from elsewhere; ``text``, the sentences of ``words/``
  and strangers' text made safe to show
"""

import sys

# jsonschema builds a grammar of international addresses on import, for a format that no notebook's
# schema names. It takes longer than all other imports of a worker together.
sys.modules.setdefault("rfc3987_syntax", None)
