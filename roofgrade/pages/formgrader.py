"""Changes Formgrader's pages for the course; nbgrader_config.py calls ``adapt_formgrader``."""

import contextlib
from pathlib import Path

from jinja2 import FileSystemLoader
from nbgrader.server_extensions.formgrader import apihandlers, base, handlers

from roofgrade.common.sentences import sentence
from roofgrade.course import Course
from roofgrade.gradebook.standings import read_standings


def adapt_formgrader():
    """Change nbgrader's classes, since it has no settings for this."""
    base.BaseHandler.render = _render_page
    apihandlers.AutogradeHandler.post = _refuse_autograding
    # Scripts in files that students handed in must not run as the teacher.
    handlers.SubmissionFilesHandler.content_security_policy = "sandbox"


def _render_page(page, name, **names):
    """Render the course's template of a page, or nbgrader's if there is none."""
    folders = [Path(__file__).parent / "templates/formgrade", handlers.template_path]
    templates = page.settings["nbgrader_jinja2_env"].overlay(loader=FileSystemLoader(folders))
    templates.filters["words"] = sentence
    if "assignment_id" in names:
        with contextlib.suppress(ValueError):  # nothing is graded yet, or it is another course
            course = Course(Path(page.coursedir.root))
            names["standings"] = read_standings(course, names["assignment_id"])
    return templates.select_template([f"{name}.j2", name]).render(**names)


def _refuse_autograding(handler, assignment, student):
    handler.set_status(403)
    handler.finish({"message": sentence("pages.how_to_grade", assignment=assignment)})
