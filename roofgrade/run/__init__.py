"""Grades a whole class: the run, its worker processes, and workers on a Dask cluster."""
