"""The release's notebook with the student's words in it, whatever became of the cells.

- ``submission``: builds the notebook, and says what was wrong with it
- ``cells``: the submitted cells as plain data, within bounds
- ``matching``: which of them is which cell of the release
- ``stock``: the same for nbgrader's own ``autograde``
"""
