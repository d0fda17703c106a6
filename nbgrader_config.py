"""nbgrader's settings: where the course keeps what, and how solutions leave the student version.

Students' work goes to submitted/, the graded copies to autograded/, what they get back to
feedback/; all three, and the gradebook, stay out of version control.
"""

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
c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]

# What students hand in is built anew from the release first: a cell that stands twice, is gone or
# has lost its metadata would else end the run. A deleted check comes back, and counts.
c.Autograde.sanitize_preprocessors = [
    "roofkit.grading.stock.Mend",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
