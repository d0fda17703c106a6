"""The few sentences shown from inside the sandbox, which sees no other table of words."""

from pathlib import Path

from rooflab.words import Words

sentence = Words(Path(__file__).parent / "words")
