"""nbgrader's settings: the course's folders, and how solutions are removed for students.

Students' work goes to submitted/, graded copies to autograded/, and feedback pages to feedback/.
These folders and the gradebook are not under version control.
"""

from pathlib import Path

import nbgrader

import roofgrade
from roofgrade.pages import formgrader

c = get_config()  # noqa: F821  nbgrader provides it

c.CourseDirectory.course_id = "roofline"
c.CourseDirectory.source_directory = "solutions/en"
c.CourseDirectory.release_directory = "exercises/en"
# A solution's folder may contain only files for students, because nbgrader copies all of them.
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "*.md"]

# The cell above the stub contains `name = ...`, so an untouched notebook still runs to its end.
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE"}
c.ClearSolutions.text_stub = "YOUR ANSWER HERE"

# A paragraph's rubric is in a locked cell next to it, but nbgrader expects rubrics only in task
# cells. Teachers see the rubric in Formgrader; it is not in any release or feedback page.
c.ClearMarkScheme.enforce_metadata = False

# With nbgrader's own collector, a link to the solutions would be collected as a submission.
c.ExchangeFactory.collect = "roofgrade.intake.exchange.Collect"

# Feedback pages run no scripts and load nothing. They are rewritten each time.
c.GenerateFeedback.exporter_class = "roofgrade.pages.feedback.FeedbackExporter"
c.GenerateFeedback.preprocessors = []  # the exporter uses others
c.GenerateFeedback.force = True

# Formgrader's pages don't run what students wrote, or load anything from other hosts. Cleaning
# converts cells to HTML, up to a size limit, so nbconvert's own filters have nothing left to do.
c.HTMLExporter.preprocessors = ["roofgrade.pages.notebook_html.Cleaning"]
c.HighlightMagicsPreprocessor.enabled = False
READY = ("markdown2html", "highlight_code", "strip_files_prefix")
c.HTMLExporter.filters = dict.fromkeys(READY, "roofgrade.pages.notebook_html.pass_through")
c.HTMLExporter.filters["words"] = "roofgrade.common.sentences.sentence"
FORMGRADER = Path(nbgrader.__file__).parent / "server_extensions/formgrader/templates"
HOUSE = Path(roofgrade.__file__).parent / "pages/templates"
c.HTMLExporter.extra_template_basedirs = [str(HOUSE), str(FORMGRADER)]
c.HTMLExporter.extra_template_paths = [str(FORMGRADER)]

# Each submitted notebook is first rebuilt from the release. Otherwise, cells that are duplicated,
# missing or without metadata would stop the run. Deleted checks are restored, and they count.
c.Autograde.sanitize_preprocessors = [
    "roofgrade.restore.nbgrader_step.RestoreNotebook",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Formgrader shows what grading knows, and runs nothing that students wrote.
formgrader.adapt_formgrader()
