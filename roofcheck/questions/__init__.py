"""The question tables, one or more for each lecture or problem set.

roofcheck/README.md shows a question of each kind.
"""
