"""Small configs by family, with the keys that published config.json files have.

One entry of SMALL for each model_type, with variants of it; CHANGES changes one key at a time, or
leaves it out: it is counted, or refused by name. transformers has to know the model_type, since it
builds the model that is counted. GLM-4.5, which stands in for the first DeepSeek, has no bias after
attention, so that no change adds one.
"""

import json
from pathlib import Path

_FILE = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
SMALL = _FILE["small"]
ABSENT = object()
CHANGES = [  # null in the file is a key that is left out
    (family, {key: ABSENT if value is None else value for key, value in changes.items()})
    for changes, names in _FILE["changes"]
    for family in names.split()
]
