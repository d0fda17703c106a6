"""What no student sees before the grades are out."""

import re
from pathlib import Path

TEXTS = Path(__file__).resolve().parents[1] / "solutions/text"
# A shorter line, such as "return max(a, b)", is anybody's.
LONG = 18
# What stands in the files of an instructor's own.
SECRET = "question of an instructor's own"


def solution_lines():
    """Every longer line of a solution, a model answer or a rubric in the problem sets' texts."""
    for text in sorted(TEXTS.glob("*.md")):
        source = text.read_text(encoding="utf-8")
        hidden = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", source, re.S)
        hidden += re.findall(r'"rubric": true}\n+.*?\n\n(.*?)(?=\n\+\+\+|\Z)', source, re.S)
        for line in "\n".join(hidden).splitlines():
            if len(line.strip()) >= LONG:
                yield line.strip()
