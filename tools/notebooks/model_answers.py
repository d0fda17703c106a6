"""Write course/answers.json: the model answers of all paragraphs, for who learns alone.

    python -m tools.notebooks.model_answers

They are read off the solutions. The file is not under version control, and no class's kit holds it.
"""

import json
from pathlib import Path

from roofgrade.course import Course
from roofgrade.gradebook.answer_release import read_model_answers

ROOT = Path(__file__).resolve().parents[2]


def main():
    (ROOT / "course/answers.json").write_text(model_answers_as_json(ROOT), encoding="utf-8")


def model_answers_as_json(root):
    """The model answers of each set by grade id, as JSON."""
    course = Course(root)
    found = {name: read_model_answers(course, name) for name in course.released_sets()}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
