"""The question tables: one module a lecture or problem set, one entry a question.

Each entry holds what is asked, the reference (computed by roofkit), the tolerance, the unit, the
points and the known wrong turns. ``roofkit.check`` reads them all.
"""
