"""Replace the words in a number with digits, and Chinese words around it with English ones."""

import re

from roofcheck.reading.vocabulary import VOCABULARY

COUNTS = {
    "one": 1, "two": 2, "twice": 2, "double": 2, "three": 3, "triple": 3, "four": 4,
    "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12,
}  # fmt: skip
# The powers of ten after a number in digits.
POWERS = {
    "hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "百": 2, "千": 3,
    "万": 4, "兆": 6, "亿": 8, "萬": 4, "億": 8,
}  # fmt: skip
FRACTION_WORDS = VOCABULARY["fraction_words"]
INFINITY = re.compile(
    r"(?<!\w)(?:infinity|infinite|inf|unbounded|unlimited|no limit|无穷大?|无限大?)(?!\w)", re.I
)


def _pattern_of_any(words):
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


COUNT = re.compile(
    rf"\b(?:a(?= (?:{_pattern_of_any(POWERS)})\b)|{_pattern_of_any(COUNTS)})\b", re.I
)
POWER = re.compile(
    rf"(?<![\w./^])(?P<digits>\d+(?:[.,]\d+)*|\.\d+)[ -]?"
    rf"(?P<powers>(?:[ -]?(?:{_pattern_of_any(POWERS)}))+)(?![a-z])", re.I,
)  # fmt: skip
FRACTION = re.compile(
    rf"\b(?:(\d+|an?)[ -]({_pattern_of_any(FRACTION_WORDS)})s?|half)\b(?:(?: of)? an?\b)?", re.I
)
CHINESE_WORDS = VOCABULARY["chinese_words"]
CHINESE_PREFIXES = VOCABULARY["chinese_prefixes"]
CHINESE_PREFIX = re.compile(
    rf"({_pattern_of_any(CHINESE_PREFIXES)})(?=秒|字节|比特|位|浮点|次浮点|[BbF])"
)


def replace_numerals(text):
    """Return the text with its number words as digits and its Chinese words in English.

    Numerals of several words, such as "two hundred and forty", are left as they are.

    >>> replace_numerals("2.5 million"), replace_numerals("three quarters")
    ('2.5e6', '(3/4)')
    >>> replace_numerals("约 320 微秒"), replace_numerals("1.5万")
    ('about 320 µs', '1.5e4')
    """
    text = INFINITY.sub("1e999", text)
    if re.search("[\u4e00-\u9fff]", text):
        text = _translate_chinese(text)
    text = COUNT.sub(lambda match: f"{COUNTS.get(match[0].casefold(), 1)}", text)
    text = FRACTION.sub(_replace_fraction, POWER.sub(_replace_power, text))
    # "5 and a half" and "1 1/2".
    text = re.sub(r"\b(\d+) and (\(\d+/\d+\))", r"(\1+\2)", text)
    text = re.sub(r"(?<![\w.,/^*] )(?<![\w.,/^*])(\d+) (\d\d?/\d\d?)(?![\w.])", r"(\1+\2)", text)
    return " ".join(text.split())


def _translate_chinese(text):
    text = CHINESE_PREFIX.sub(lambda match: f" {CHINESE_PREFIXES[match[1]]}", text)
    text = POWER.sub(_replace_power, text.replace("一半", "(1/2)"))
    text = re.sub(r"百分之 ?(\d[\d.]*)", r"\1%", text)
    text = re.sub(r"(\d+) ?分之 ?(\d+)", r"(\2/\1)", text).replace("半", "(1/2)")
    # Chinese can put "per second" and "per byte" before the number.
    text = re.sub(r"^(.*?)(每(?:秒|字节)) ?([\d(].*)$", r"\1\3\2", text)
    text = re.sub(_pattern_of_any(CHINESE_WORDS), lambda match: CHINESE_WORDS[match[0]], text)
    return " ".join(text.split())


def _replace_power(match):
    """Return "2.5 million" as a power of ten."""
    number = re.sub(r",(?=\d{3}(?!\d))", "", match["digits"]).replace(",", ".")
    if number.count(".") > 1:
        return match[0]
    powers = re.findall(_pattern_of_any(POWERS), match["powers"].casefold())
    return f"{number}e{sum(POWERS[word] for word in powers)}"


def _replace_fraction(match):
    count = match[1] if match[1] and match[1].isdigit() else "1"
    return f"({count}/{FRACTION_WORDS[(match[2] or 'half').casefold()]})"
