"""nbgrader's settings for the teacher, which apply in every folder."""

from pathlib import Path

c = get_config()  # noqa: F821  nbgrader provides it

c.CourseDirectory.root = str(Path.home() / "roofline/teaching")
