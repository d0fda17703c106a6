"""nbgrader's settings for who teaches, wherever a command is typed."""

from pathlib import Path

c = get_config()  # noqa: F821  nbgrader provides it

c.CourseDirectory.root = str(Path.home() / "roofline/teaching")
