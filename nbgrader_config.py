"""nbgrader's settings: where the course keeps what, and how solutions leave the student version.

Students' work goes to submitted/, the graded copies to autograded/, what they get back to
feedback/; all three, and the gradebook, stay out of version control.
"""

from pathlib import Path

import nbgrader

import roofgrade

c = get_config()  # noqa: F821  nbgrader provides it

c.CourseDirectory.course_id = "roofline"
c.CourseDirectory.source_directory = "solutions/en"
c.CourseDirectory.release_directory = "exercises/en"
# Beside a solution only files meant for students may stand: nbgrader copies them all.
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "*.md"]

# The cell above the stub holds `name = ...`, so that an untouched notebook still runs to its end.
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE"}
c.ClearSolutions.text_stub = "YOUR ANSWER HERE"

# A rubric stands in a locked cell beside the paragraph that it marks: nbgrader knows it from task
# cells alone. Who marks sees it in formgrader; no release and no feedback page shows it.
c.ClearMarkScheme.enforce_metadata = False

# A page that students get runs nothing, loads nothing, and is made anew whenever it is asked for.
c.GenerateFeedback.exporter_class = "roofgrade.pages.feedback.FeedbackExporter"
c.GenerateFeedback.preprocessors = []  # the exporter has its own
c.GenerateFeedback.force = True

# Nor does a page of Formgrader run what a student wrote, or load anything from another host.
# Cleaning makes HTML, within bounds; nbconvert's own filters have nothing left to do.
c.HTMLExporter.preprocessors = ["roofgrade.pages.notebook_html.Cleaning"]
c.HighlightMagicsPreprocessor.enabled = False
READY = ("markdown2html", "highlight_code", "strip_files_prefix")
c.HTMLExporter.filters = dict.fromkeys(READY, "roofgrade.pages.notebook_html.pass_through")
c.HTMLExporter.filters["words"] = "roofgrade.common.sentences.sentence"
FORMGRADER = Path(nbgrader.__file__).parent / "server_extensions/formgrader/templates"
HOUSE = Path(roofgrade.__file__).parent / "pages/templates"
c.HTMLExporter.extra_template_basedirs = [str(HOUSE), str(FORMGRADER)]
c.HTMLExporter.extra_template_paths = [str(FORMGRADER)]

# What students hand in is built anew from the release first: a cell that stands twice, is gone or
# has lost its metadata would else end the run. A deleted check comes back, and counts.
c.Autograde.sanitize_preprocessors = [
    "roofgrade.restore.nbgrader_step.RestoreNotebook",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
