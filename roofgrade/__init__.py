"""Grading that counts: what students hand in, run out of reach and judged where they are not.

``python -m roofgrade ps1`` takes in what lies in ``submitted/``, runs each notebook in a
sandbox, judges what comes out by the question tables, and saves grades and messages with
nbgrader's own code, so that gradebook, Formgrader, feedback and export serve as ever. In the order
of a submission's way:

- ``course``: where a course keeps what; ``intake``: which folder is whose, with ``names``, and
  ``files``: read once, bounded, regular
- ``mend``: the release's notebook with the student's words in it, with ``cells`` and ``matching``
- ``sandbox``: a process that can do no harm; ``probes``: what a locked check asks it for;
  ``values``: what it answered, as plain data; ``judging``: points and message, by the table
- ``outputs``: what the student's cells printed, cleaned; ``marking``: all of that, for one ``task``
- ``results``: what came of each, ``kept`` as files; ``run``: a whole class, on the ``workers`` of
  one machine or of a ``cluster``; ``summary``: the table of what became of each
- ``gradebook``: the one writer, over ``database``, ``register`` and ``writing``
- ``standing``: how each student stands; ``feedback``, with ``cleaning`` and ``markup``; ``report``,
  with ``lessons``; ``regrade``, ``late``, ``roster``, ``export``, ``archives``
- ``stock``: what nbgrader's own autograde needs, so that it gives honest work the same grades
- ``commands``: the command line
"""

import sys

# jsonschema builds a grammar of international addresses on import, for a format that no notebook's
# schema names. It takes longer than all other imports of a worker together.
sys.modules.setdefault("rfc3987_syntax", None)
