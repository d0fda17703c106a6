"""Grading that counts: what students hand in, run out of reach and judged where they are not.

``python -m roofkit grade ps1`` takes in what lies in ``submitted/``, runs each notebook in a
sandbox, judges what comes out by the question tables, and saves grades and messages with
nbgrader's own code, so that gradebook, Formgrader, feedback and export serve as ever. In the order
of a submission's way:

- ``course``: where a course keeps what; ``intake``: which folder is whose, bounded and regular
  files; ``mend``: the release's notebook with the student's words in it
- ``sandbox``: a process that can do no harm; ``probes``: what a locked check asks it for;
  ``values``: what it answered, as plain data; ``judging``: points and message, by the table
- ``outputs``: what the student's cells printed, cleaned; ``marking``: all of that, for one notebook
- ``results``: what came of each, kept; ``run``: a whole class, on the ``workers`` of one machine or
  of a ``cluster``; ``gradebook``: the one writer; ``summary``: the table of what became of each
- ``feedback``, ``report``, ``regrade``, ``late``, ``roster``, ``export``, ``archives``: what a
  term needs beside it
- ``stock``: what nbgrader's own autograde needs, so that it gives honest work the same grades
"""
