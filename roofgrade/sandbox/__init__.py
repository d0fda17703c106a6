"""Runs student code in a process that can do no harm and whose replies are never trusted.

Each worker has one ``Box``: a bubblewrap sandbox with a warm Python, which has imported what
notebooks import and contains no questions or answers. Each submission runs in a fork of it, which
is sealed before it receives any student data. From the outside in:

- ``box``: the warm Python and its child for each submission; ``child``: talks to one child
- ``bubblewrap``: starts the warm Python behind walls; ``unsandboxed``: the same without walls
- ``visible_folders`` and ``layout``: the machine's and the course's files that it can see
- ``identity``: its user and core; ``launch``: switches to them; ``host``: explains errors
- ``walls``: checks that a child is sealed; ``syscalls`` and ``memory``: what a child may use
- ``inside``: the code that runs in the sandbox
"""

from roofgrade.sandbox.box import Box

__all__ = ["Box"]
