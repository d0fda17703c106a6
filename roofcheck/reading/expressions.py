"""Evaluate arithmetic written as text, without executing any of it as code."""

import re

from roofcheck.sentences import join_items, sentence

LONGEST_TEXT = 300
# No honest answer nests parentheses, signs or powers deeper than this.
DEEPEST_NESTING = 30
NUMBER = r"(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
TOKEN = re.compile(rf"{NUMBER}|[^\W\d]\w*|\*\*|\\[A-Za-z]+|\S")
OPENING = {"(": ")", "[": "]", "{": "}"}
FUNCTIONS = {"max": max, "min": min, "abs": abs, "sqrt": None}


def evaluate(text, values=None, number=float, exact=()):
    """Evaluate an arithmetic expression of numbers and named ``values``.

    Multiplication signs are optional: ``2k(k+1)``. Names may differ in case, have a subscript, or
    follow an ``x`` for times, provided that only one value matches. LaTeX's ``frac`` and ``sqrt``
    work. Names in ``exact`` are case-sensitive. ``number`` converts floats to the type of the
    values. For all other text, raises a ValueError that names the unknown part.

    >>> evaluate("2*10^3"), evaluate("(k-1)/(2(k+1))", {"k": 3.0})
    (2000.0, 0.25)
    >>> evaluate(r"\\frac{2bd x F}{B_1^2}", {"B": 2.0, "D": 3.0, "F": 5.0})
    15.0
    """
    if len(text) > LONGEST_TEXT:
        raise ValueError(sentence("expression.too-long", most=LONGEST_TEXT))
    try:
        return _Parser(text, values or {}, number, exact).parse()
    except ZeroDivisionError:
        raise ValueError(sentence("expression.zero")) from None
    except OverflowError:
        raise ValueError(sentence("expression.too-large")) from None
    except TypeError:
        # A function was called with the wrong number of arguments.
        raise ValueError(sentence("expression.not-arithmetic")) from None


def _raise_to_power(base, exponent):
    result = base**exponent
    if isinstance(getattr(result, "value", result), complex):
        raise ValueError(sentence("expression.complex"))
    return result


class _Parser:
    """A recursive-descent parser that evaluates while it parses."""

    def __init__(self, text, values, number, exact):
        self._values, self._number = values, number
        self._folded = [name for name in values if name not in exact]
        self._tokens = [
            part for token in TOKEN.findall(text) for part in self._split_name(token, text)
        ]
        self._place = self._depth = 0

    def parse(self):
        value = self._sum()
        if self._next:
            raise ValueError(sentence("expression.not-arithmetic"))
        return value

    @property
    def _next(self):
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _take(self, *wanted):
        if self._next not in wanted:
            return ""
        self._place += 1
        return self._tokens[self._place - 1]

    def _sum(self):
        value = self._product()
        while sign := self._take("+", "-"):
            other = self._product()
            value = value + other if sign == "+" else value - other
        return value

    def _product(self):
        value = self._signed_factor()
        while self._next:
            if self._take("/"):
                value = value / self._signed_factor()
            elif self._take("*") or self._is_factor():
                value = value * self._signed_factor()
            else:
                break
        return value

    def _is_factor(self):
        if not re.match(NUMBER, self._next):
            return bool(re.match(r"[^\W\d]|\\|[(\[{]", self._next))
        if re.match(NUMBER, self._tokens[self._place - 1]):
            fields = {"first": self._tokens[self._place - 1][:20], "second": self._next[:20]}
            raise ValueError(sentence("expression.side-by-side", **fields))
        return True

    def _signed_factor(self):
        self._depth += 1
        if self._depth > DEEPEST_NESTING:
            raise ValueError(sentence("expression.too-deep"))
        if sign := self._take("+", "-"):
            value = -self._signed_factor() if sign == "-" else self._signed_factor()
        else:
            value = self._factor()
            if self._take("^", "**"):
                value = _raise_to_power(value, self._signed_factor())
        self._depth -= 1
        return value

    def _factor(self):
        token = self._next
        self._place += 1
        if token in OPENING:
            value = self._sum()
            self._close(token)
            return value
        if re.match(NUMBER, token):
            return self._number(float(token.replace("_", "")))
        if token in self._values:
            return self._values[token]
        if token == "\\frac":
            above = self._factor()
            return above / self._factor()
        if (name := token.lstrip("\\")) in FUNCTIONS and self._next in OPENING:
            arguments = self._arguments()
            if name == "sqrt":
                return _raise_to_power(*arguments, self._number(0.5))
            return FUNCTIONS[name](*arguments)
        raise ValueError(sentence("expression.not-arithmetic"))

    def _arguments(self):
        opened = self._take(*OPENING)
        arguments = [self._sum()]
        while self._take(","):
            arguments.append(self._sum())
        self._close(opened)
        return arguments

    def _close(self, opened):
        if not self._take(OPENING[opened]):
            raise ValueError(sentence("expression.not-arithmetic"))

    def _split_name(self, token, text):
        """Split a word into tokens: BDF is the product of B, D and F."""
        if not re.match(r"[^\W\d]", token):
            return [token]
        if name := self._find_value_name(token):
            return [name]
        if token in FUNCTIONS:
            return [token]
        base, _, subscript = token.partition("_")
        others = set(re.findall(rf"\b{base}_\w+", text)) - {token}
        if subscript and not others and not any(letter in self._values for letter in subscript):
            # B_tokens is B. But W_1 and W_2 are two names, and B_tD may be B_t times D.
            return self._split_name(base, text)
        letters = [
            self._find_value_name(letter) or ("*" if letter in "xX" else letter) for letter in token
        ]
        if all(letter in self._values or letter == "*" for letter in letters):
            return letters
        known = join_items(self._values, "comma") or sentence("expression.no-symbols")
        raise ValueError(sentence("expression.unknown", name=repr(token[:40]), symbols=known))

    def _find_value_name(self, word):
        """Return the only name that a word matches when case is ignored, or None."""
        if word in self._values:
            return word
        names = [name for name in self._folded if name.casefold() == word.casefold()]
        return names[0] if len(names) == 1 else None
