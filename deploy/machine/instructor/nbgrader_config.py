"""Settings of nbgrader for the teacher, in whatever folder a command runs."""

from pathlib import Path

c = get_config()  # noqa: F821  nbgrader provides it

c.CourseDirectory.root = str(Path.home() / "roofline/teaching")
