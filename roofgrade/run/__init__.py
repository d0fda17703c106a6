"""Grades a whole class, with worker processes on this machine or on a Dask cluster."""
