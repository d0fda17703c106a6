"""What runs inside the sandbox, beside the student's code. Nothing here knows an answer.

- ``warm``: the process that forks one child a submission; ``seal``: the walls the child puts up
- ``notebook``: runs cells and answers probes; ``shell``: IPython as under a kernel; ``recorder``:
  what a cell puts out
- ``answers``: values as plain data; ``stub``: stands in for ``roofcheck``
- ``channel``: messages to the worker outside; ``text``: the sentences that are said in here
"""
