"""Runs one notebook in the sandbox and judges, outside it, the values that come out.

- ``marking``: one submission, from the notebook as it came to points and messages
- ``probes``: what a check asks the student's process for
- ``values``: what the process replied, read with care
- ``judging``: points and a message for a reply, by the question tables
- ``outputs``: what the student's cells put out, bounded and of harmless kinds
"""
