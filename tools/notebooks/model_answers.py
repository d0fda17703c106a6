"""Write course/answers.json: the model answers of all paragraphs, for self-study.

    python -m tools.notebooks.model_answers

The answers come from the solutions. The file isn't committed, and a class's kit doesn't have it.
"""

import json
from pathlib import Path

from roofgrade.course import Course
from roofgrade.gradebook.answer_release import read_model_answers

ROOT = Path(__file__).resolve().parents[2]


def main():
    (ROOT / "course/answers.json").write_text(model_answers_as_json(ROOT), encoding="utf-8")


def model_answers_as_json(root):
    """Return the model answers of each set, by grade id, as JSON."""
    course = Course(root)
    answers = {name: read_model_answers(course, name) for name in course.released_sets()}
    return json.dumps(answers, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
