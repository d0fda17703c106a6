"""Look up the sentences in words/en.toml that the tools show to students and audiences."""

from pathlib import Path

from rooflab.words import Words

sentence = Words(Path(__file__).with_name("words"))
