"""Hand a problem set in: a run from the top, then nbgrader's exchange or a file."""
