"""The question tables: one module a lecture or problem set, one entry a question.

An entry names its inputs, gives the answer as a formula of them, and lists the slips that its
inputs do not already bring. CONTRIBUTING.md shows one of each kind.
"""
