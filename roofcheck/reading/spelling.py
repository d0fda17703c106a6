"""Replace Unicode symbols and LaTeX in an answer with plain text."""

import re
import unicodedata

from roofcheck.reading.expressions import LONGEST_TEXT
from roofcheck.reading.vocabulary import VOCABULARY

# Replaced before Unicode normalisation, which would turn 10² into 102 and 1½ into 11/2.
FROM_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
SUPERSCRIPT_NUMBER = re.compile("[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
INVISIBLE_SIGNS = re.compile("[\u200b-\u200f\u2060\ufeff]")
PLAIN_SIGNS = str.maketrans(VOCABULARY["plain_signs"])
LATEX = VOCABULARY["latex"]
# LaTeX commands that only affect typesetting.
TYPESETTING = r"\\(?:left|right|[bB]igg?[lr]?|displaystyle|quad|qquad)(?![A-Za-z])|\\[,;:! ()\[\]]"


def to_plain_signs(text):
    """Return the text in plain keyboard characters.

    >>> to_plain_signs("２·10⁻³ ＧＢ／ｓ"), to_plain_signs("1½")
    ('2*10^(-3) GB/s', '(1+1/2)')
    >>> to_plain_signs(r"\\frac{n-1}{2}\\times T_{math}^{2}")
    '\\\\frac{n-1}{2}* T_math ^{2}'
    """
    text = SUPERSCRIPT_NUMBER.sub(lambda match: f"^({match[0].translate(FROM_SUPERSCRIPT)})", text)
    text = re.sub(r"(\d+) ?([¼½¾⅐-⅞])", r"(\1+\2)", text)
    text = re.sub(r"(?<!\+)([¼½¾⅐-⅞])", r"(\1)", text)
    text = re.sub(r"√ ?(\d[\d.]*|[^\W\d])", r"sqrt(\1)", text).replace("√", "sqrt")
    text = INVISIBLE_SIGNS.sub("", unicodedata.normalize("NFKC", text)).translate(PLAIN_SIGNS)
    return _replace_latex(re.sub(r"\s+", " ", text)).strip()


def _replace_latex(text):
    if "\\" not in text and "{" not in text:
        return text
    text = re.sub(TYPESETTING, "", text.replace(r"\%", "%").replace("{,}", ","))
    text = re.sub(r"\\(?:text|mathrm|mathit|operatorname|rm)\s*\{([^{}]*)\}", r" \1 ", text)
    text = re.sub(r"_\s*\{\s*(\w+)\s*\}", r"_\1 ", text)
    text = re.sub(r"\\([A-Za-z]+)", lambda match: LATEX.get(match[1], match[0]), text)
    # Without braces, \frac12 and 2^10 take one digit each.
    return re.sub(r"\\frac\s*(\d)\s*(\d)", r"\\frac{\1}{\2}", text)


def extract_formula(text):
    """Return the right-hand side of a written formula in keyboard characters, without its unit.

    >>> extract_formula("D ≥ (n−1)·C/W"), extract_formula(r"$I = \\frac{2}{3b}$ FLOP/byte")
    ('(n-1)*C/W', '\\\\frac{2}{3b}')
    """
    if len(text) > LONGEST_TEXT:
        return text
    text = re.sub(r"[$`\"']", "", to_plain_signs(text)).strip(" .;,")
    text = re.sub(r"^[A-Za-z_ ]+:|FLOPs? ?(?:/|per) ?(?:byte|B)$|bytes?$", "", text).strip()
    sides = [side.strip() for side in re.split("[=≈<>≤≥]+", text) if side.strip()]
    # "C/W < D" is "D > C/W"; the result of a derivation comes last.
    return (sides or [""])[0 if re.search("[<≤]", text) else -1]
