"""Strip the words that people put around a number."""

import re

from roofcheck.reading import amounts
from roofcheck.reading.numerals import replace_numerals

# Words before and after a number.
WORDS_BEFORE = re.compile(
    r"^[A-Za-z_ ]{0,40}\b(?:is|are|equals|its|thats)(?!\w)|"
    r"^(?:i (?:get|got|think|guess|say)|then|about|approximately|approx|roughly|around|circa|ca|"
    r"exactly|nearly|almost|some|over|just|only|more than|at most|at least|at best|up to|the|"
    r"(?:a )?factor(?: of)?|by|of)(?![A-Za-z_])(?:\.(?!\d))?|^[~:]|"
    # In "D > 8756" the number is the bound itself, and "ridge: 240" has a label.
    r"^[A-Za-z_*]{0,8} ?[>≥]|^[A-Za-z][A-Za-z_ ]{0,30}(?:\([^()]{0,20}\))? ?:",
    re.I,
)
WORDS_AFTER = re.compile(
    r"(?:\b(?:or so|or more|and more|at least|at most|approximately|approx|roughly|in total|"
    r"in all|each)|[<≤] ?[A-Za-z]\w{0,7}|(?<=\w)\+|(?<!\d)\.|[,;!?]|"
    r"(?:(?<= )|^)of (?:[\w-]+ ){0,4}peak(?: performance)?)$|"
    r",? (?:because|since) .*$",
    re.I,
)
RESULT = re.compile(r"[=≈]+>?|\b(?<!or )(?:so|therefore|hence|thus)\b", re.I)
REMARK = re.compile(r"(?<=[\w%.)]) \((?!or\b)(?=[^()]*[A-Za-z]{2})[^()]*\)$")
# "1.22 (ms)" ends with a unit, and "1.22, memory-bound" with a comment.
UNIT_APART = re.compile(r"(?<=[\d)]) ?(?:\(([^\d()]+)\)|,([^\d()]*))$")
# "8 H100s" are 8 chips, and "8 E10" may be a power of ten.
CHIPS = re.compile(r"(?<=\d) (?:\w+ )?(?!E\d)[A-Z]{1,2}\d{1,4}[A-Za-z]{0,2}$")
TALK = re.compile(r",[^\d()]*$")
# Words for operations, between two operands.
OPERATIONS = {
    r"(?<=[\d)]) ?[xX] ?(?=[\d(.])| [xX] (?=[\d(.])": "*",
    r"(?<=\S) (?:multiplied by|times|of(?<=[%)] of)) (?=[\d(.])": "*",
    r"(?<=\S) (?:divided by|over) (?=[\d(.])": "/",
    r"(?<=\d) (?:in|out of)(?: every)? (?=\d)": "/",
    r"(?<=\S) plus (?=[\d(.])": "+",
    r"(?<=\S) minus (?=[\d(.])": "-",
    r" to the (?:power (?:of )?)?(?=[\d(-])": "^",
    r"(?<=\d)-(?=fold\b)": " ",
    # In "5×" and "5x faster", the sign means times.
    r"(?<=[\d)]) ?[*xX] ?(?=$|(?:as|more|less|fewer|faster|slower|longer|shorter|lower|higher)\b)":
        " times ",
}  # fmt: skip


def without_words(words):
    """Return only the number or its arithmetic, with signs for operations.

    >>> without_words("I think T_comms is about 5 ms, so it binds")
    '5 ms'
    >>> without_words("2 GB divided by 1.6 TB/s (HBM)")
    '2 GB/1.6 TB/s'
    """
    words = words.translate(str.maketrans("[]{}", "()()", "$`\"'"))
    for sign, meant in (("< ?=", "≤"), ("> ?=", "≥"), ("->", "=")):
        words = re.sub(sign, meant, words)
    words = replace_numerals(words)
    # The result of a derivation comes last.
    results = [part for part in RESULT.split(words) if re.search(r"\d", part)]
    words = results[-1].strip() if results else words.strip(" =")
    if (apart := UNIT_APART.search(words)) and amounts.read_unit(apart[1] or apart[2]):
        words = f"{words[: apart.start()]} {apart[1] or apart[2]}".strip()
    words = CHIPS.sub(" chips", TALK.sub("", REMARK.sub("", words)))
    while (shorter := WORDS_AFTER.sub("", WORDS_BEFORE.sub("", words)).strip()) != words:
        words = shorter
    # A full stop at the end may belong to the sentence.
    words = re.sub(r"([.,]\d+|[eE][-+]?\d+)\.$", r"\1", words)
    # "40 856" is one number, and so is "(40856)".
    spaced = r"(?<![\d.,] )(?<![\w.,])\d{1,3}(?: \d{3})+(?![\d.]* ?\d)"
    words = re.sub(spaced, lambda match: match[0].replace(" ", ""), words)
    words = re.sub(r"^\(([^()]*)\)$", r"\1", words)
    for word, sign in OPERATIONS.items():
        words = re.sub(word, sign, words)
    return words.strip()
