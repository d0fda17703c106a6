"""The words and symbols in students' answers, from vocabulary.toml."""

import tomllib
from pathlib import Path

VOCABULARY = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
