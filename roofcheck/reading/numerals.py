"""Replace English and Chinese number words with digits, and translate Chinese around numbers."""

import re
from decimal import Decimal

from roofcheck.reading.vocabulary import VOCABULARY

ONES = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
# The powers of ten in numerals.
POWERS = {
    "hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12,
    "十": 1, "百": 2, "千": 3, "万": 4, "兆": 6, "亿": 8, "萬": 4, "億": 8,
}  # fmt: skip
COUNTS = {
    **{word: n for n, word in enumerate(ONES)},
    **{word: 10 * n for n, word in enumerate(TENS, start=2)},
    **{sign: n for n, sign in enumerate("零一二三四五六七八九")},
    **{"twice": 2, "double": 2, "thrice": 3, "triple": 3, "〇": 0, "两": 2, "兩": 2},
}
FRACTION_WORDS = VOCABULARY["fraction_words"]
INFINITY = re.compile(
    r"(?<!\w)(?:infinity|infinite|inf|unbounded|unlimited|no limit|无穷大?|无限大?)(?!\w)", re.I
)


def _pattern_of_any(words):
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


DIGITS = r"(?:\d+(?:[.,]\d+)*|\.\d+)"
ONE = _pattern_of_any([*ONES, "twice", "double"])
SMALL = rf"(?:(?:{_pattern_of_any(TENS)})(?:[ -](?:{_pattern_of_any(ONES[1:10])}))?|{ONE})"
POWER = rf"(?:{_pattern_of_any(word for word in POWERS if word.isascii())})"
AFTER_POWER = "|".join(f"(?<={word})" for word in POWERS if word.isascii())
ENGLISH = re.compile(
    rf"(?:(?<![\w./^])(?P<digits>{DIGITS})[ -]?(?={POWER}\b)|\b{SMALL}\b|\ba (?={POWER}\b))"
    rf"(?:[ -]?{POWER}\b|(?:{AFTER_POWER})(?: and |[ -]){SMALL}\b)*",
    re.I,
)
CHINESE = re.compile(
    rf"(?P<digits>{DIGITS})? ?[〇零一二三四五六七八九两兩十百千万亿兆萬億]"
    r"[〇零一二三四五六七八九两兩十百千万亿兆萬億点\d]*"
)
FRACTION = re.compile(
    rf"\b(?:(\d+|an?)[ -]({_pattern_of_any(FRACTION_WORDS)})s?|half)\b(?:(?: of)? an?\b)?", re.I
)
CHINESE_WORDS = VOCABULARY["chinese_words"]
CHINESE_PREFIXES = VOCABULARY["chinese_prefixes"]
CHINESE_PREFIX = re.compile(
    rf"({_pattern_of_any(CHINESE_PREFIXES)})(?=秒|字节|比特|位|浮点|次浮点|[BbF])"
)


def replace_numerals(text):
    """Return the text with number words as digits and Chinese words in English.

    >>> replace_numerals("two hundred and forty"), replace_numerals("three quarters")
    ('240', '(3/4)')
    >>> replace_numerals("约三百二十微秒"), replace_numerals("1.5万")
    ('about 320 µs', '1.5e4')
    """
    text = INFINITY.sub("1e999", text)
    if re.search("[\u3007\u4e00-\u9fff]", text):
        text = _translate_chinese(text)
    text = FRACTION.sub(_replace_fraction, ENGLISH.sub(_replace_numeral, text))
    # "five and a half" and "1 1/2".
    text = re.sub(r"\b(\d+) and (\(\d+/\d+\))", r"(\1+\2)", text)
    text = re.sub(r"(?<![\w.,/^*] )(?<![\w.,/^*])(\d+) (\d\d?/\d\d?)(?![\w.])", r"(\1+\2)", text)
    return " ".join(text.split())


def _translate_chinese(text):
    text = CHINESE_PREFIX.sub(lambda match: f" {CHINESE_PREFIXES[match[1]]}", text)
    text = CHINESE.sub(_replace_numeral, text.replace("一半", "(1/2)"))
    text = re.sub(r"100分之 ?(\d[\d.]*)", r"\1%", text)
    text = re.sub(r"(\d+) ?分之 ?(\d+)", r"(\2/\1)", text).replace("半", "(1/2)")
    # Chinese can put "per second" and "per byte" before the number.
    text = re.sub(r"^(.*?)(每(?:秒|字节)) ?([\d(].*)$", r"\1\3\2", text)
    text = re.sub(_pattern_of_any(CHINESE_WORDS), lambda match: CHINESE_WORDS[match[0]], text)
    return " ".join(text.split())


def _replace_numeral(match):
    """Return the digits of a numeral; "2.5 million" becomes a power of ten."""
    digits = match["digits"] or ""
    number = re.sub(r",(?=\d{3}(?!\d))", "", digits).replace(",", ".")
    words = re.findall(r"\d+|[a-z]+|[^\W\d]", match[0][len(digits) :].casefold())
    if number.count(".") > 1 or not words:
        return match[0]
    if digits and all(word in POWERS for word in words):
        return f"{number}e{sum(POWERS[word] for word in words)}"
    return f"{_numeral_value(words, Decimal(number) if digits else None):f}"


def _numeral_value(words, count):
    """Return the value of number words; ``count`` is the number before them, or None."""
    total = group = Decimal(0)
    places = 0
    for word in words:
        if word in ("hundred", "十", "百", "千"):
            group, count = group + (1 if count is None else count) * 10 ** POWERS[word], None
        elif word in POWERS:
            total += (group + (count or 0) or 1) * 10 ** POWERS[word]
            group, count = Decimal(0), None
        elif word == "点":
            places = 1
        else:
            value = int(word) if word.isdecimal() else COUNTS.get(word, 0)
            if places:
                count = (count or 0) + value / Decimal(10) ** places
                places += 1
            else:
                # Chinese can write a numeral digit by digit: 二〇四八.
                count = value + (count or 0) * (1 if word.isascii() and word.isalpha() else 10)
    return total + group + (count or 0)


def _replace_fraction(match):
    count = match[1] if match[1] and match[1].isdigit() else "1"
    return f"({count}/{FRACTION_WORDS[(match[2] or 'half').casefold()]})"
