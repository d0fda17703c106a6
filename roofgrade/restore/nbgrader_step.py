"""The preprocessor that lets nbgrader's own ``autograde`` give honest work the same grades.

nbgrader's preprocessors end the whole run at an unknown schema version. So nbgrader_config.py makes
this the first of ``Autograde.sanitize_preprocessors``, instead of ClearOutput and DeduplicateIds.
A notebook that cannot be restored fails only its own student.
"""

import json
from pathlib import Path

from nbgrader.preprocessors import NbGraderPreprocessor

from roofgrade.restore.restored_notebook import read_release, restore_notebook


class RestoreNotebook(NbGraderPreprocessor):
    """Restores the release's notebook with the student's answers, and logs what was wrong."""

    def preprocess(self, nb, resources):
        """Raises RefusedError if ``nb`` has nothing of the release in it."""
        where = resources["nbgrader"]
        course = self.parent.parent.coursedir  # The parents are the exporter and its converter.
        folder = course.format_path(course.release_directory, ".", where["assignment"])
        path = Path(folder) / f"{where['notebook']}.ipynb"
        restored = restore_notebook(json.dumps(nb).encode(), read_release(path))
        for remark in restored.remarks:
            self.log.warning("%s, %s: %s", where["student"], where["notebook"], remark)
        return restored.notebook, resources
