"""Runs students' code in a process that can do no harm, and believes nothing that it replies.

A worker has one ``Box``: a bubblewrap sandbox with a warm Python in it, which has imported what
notebooks import and knows neither questions nor answers. Each submission runs in a fork of it,
which is sealed before it sees a byte of the student's. From the outside in:

- ``box``: the warm Python and its child for each submission; ``child``: talks to one child
- ``bubblewrap``: starts the warm Python behind walls; ``unsandboxed``: the same without walls
- ``visible_folders`` and ``layout``: the files it sees, of the machine and of the course
- ``identity``: its user and core; ``launch``: switches to them; ``host``: explains failures
- ``walls``: checks that a child is sealed; ``syscalls`` and ``memory``: what a child may use
- ``inside``: the code that runs in the sandbox
"""

from roofgrade.sandbox.box import Box

__all__ = ["Box"]
