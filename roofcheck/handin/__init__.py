"""Hand in a problem set: rerun the notebook, then submit it to nbgrader or write a file."""
