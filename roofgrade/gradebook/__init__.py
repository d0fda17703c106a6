"""What is kept: results as files, and nbgrader's gradebook, which one writer fills.

- ``kept``: results as files, so that what was graded once need not run again
- ``gradebook``: the one writer; ``database``: the gradebook that it holds open
- ``register``: makes the gradebook know a problem set
- ``standing``: how each student stands, by the gradebook and the results
"""
