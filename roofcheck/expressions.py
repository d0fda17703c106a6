"""Arithmetic written as text, worked out without running any of it as code."""

import ast
import math
import operator
import re

from roofcheck.sentences import listed, say

SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Pow: operator.pow,
    ast.UAdd: operator.pos, ast.USub: operator.neg,
}  # fmt: skip
FUNCTIONS = {"max": max, "min": min, "sqrt": math.sqrt, "abs": abs}
LONGEST = 300


def python_of(text):
    """The text with the signs that people write turned into Python's: ^, ·, ×, −, superscripts."""
    text = re.sub(r"([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda m: f"**({m[1].translate(SUPERSCRIPTS)})", text)
    for sign, python in {"^": "**", "·": "*", "×": "*", "−": "-", "–": "-", "÷": "/"}.items():
        text = text.replace(sign, python)
    return text


def evaluate(text, values=None):
    """The value of an arithmetic expression of numbers and of the named ``values``.

    Products may leave out their sign: ``2k(k+1)``. Raises ValueError, naming what it does not
    know, for anything else: other names, other calls, a text that is too long.

    >>> evaluate("2·10^3"), evaluate("(k-1)/(2(k+1))", {"k": 3})
    (2000.0, 0.25)
    """
    values = values or {}
    if len(text) > LONGEST:
        raise ValueError(say("expression.too-long", most=LONGEST))
    try:
        tree = ast.parse(_explicit(python_of(text), values), mode="eval")
        result = _value(tree.body, values)
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(say("expression.not-arithmetic")) from None
    except OverflowError:
        raise ValueError(say("expression.too-large")) from None
    except (ArithmeticError, TypeError) as error:
        raise ValueError(say("expression.fails", error=error)) from None
    if isinstance(result, complex):
        raise ValueError(say("expression.complex"))
    return result


def _explicit(text, values):
    """The text with every product written out."""
    tokens = re.findall(r"\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+|[^\W\d]\w*|\*\*|\S", text)
    parts = []
    for token in tokens:
        named = re.match(r"[^\W\d]", token)
        if named and token not in values and token not in FUNCTIONS and len(token) > 1:
            # BDF is the product of B, D and F.
            split = list(token) if all(letter in values for letter in token) else [token]
        else:
            split = [token]
        for part in split:
            before = parts[-1] if parts else ""
            ends = re.match(r"[\w).]", before[-1:]) and before not in FUNCTIONS
            if ends and re.match(r"[^\W\d]|\(" if before[:1].isdigit() else r"[\w(.]", part):
                parts.append("*")
            parts.append(part)
    return " ".join(parts)


def _value(node, values):
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return float(node.value)
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(left, values), _value(right, values))
        case ast.UnaryOp(op, operand) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(operand, values))
        case ast.Name(name) if name in values:
            return values[name]
        case ast.Name(name):
            known = listed(values, "comma") or say("expression.no-symbols")
            raise ValueError(say("expression.unknown", name=repr(name), symbols=known))
        case ast.Call(ast.Name(name), args, []) if name in FUNCTIONS:
            return FUNCTIONS[name](*(_value(argument, values) for argument in args))
    raise ValueError(say("expression.not-arithmetic"))
