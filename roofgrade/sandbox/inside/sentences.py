"""The few sentences shown from inside the sandbox, where no other sentences are available."""

from pathlib import Path

from rooflab.words import Words

sentence = Words(Path(__file__).parent / "words")
