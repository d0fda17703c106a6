"""Placeholder."""


def answer(namespace, probe):
    """The value of an expression, as text."""
    return {"repr": repr(eval(probe["expression"], namespace))}
