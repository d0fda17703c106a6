"""A process that can do no harm: students' code runs in one, and nothing it says is believed.

A worker has one ``Box``: a bubblewrap sandbox with a warm Python in it, which has imported what
notebooks import and knows neither questions nor answers. Each submission gets a fork of it, sealed
off before it sees a byte of the student's. From outside inwards:

- ``box``: the warm Python, and a child of it for each submission; ``child``: the conversation with
  one, its clock and its limits
- ``bubblewrap``: where the warm Python lives; ``bare``: the same without walls, for hosts that
  have no user namespaces; ``shown``: which folders it sees; ``layout``: what it sees of the course;
  ``identity``: whose it is; ``launch``:
  becomes that user; ``host``: what the machine lacks, in words
- ``walls``: the kernel's word that a child is sealed; ``syscalls``: what it may ask of the kernel;
  ``memory``: how much it may hold
- ``inside``: what runs in there
"""

from roofgrade.sandbox.box import Box

__all__ = ["Box"]
