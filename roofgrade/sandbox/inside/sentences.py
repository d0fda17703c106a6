"""The few sentences that are said beside a student's code, where no other table of words is."""

from pathlib import Path

from rooflab.words import Words

sentence = Words(Path(__file__).parent / "words")
