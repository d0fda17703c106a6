"""A preprocessor that makes nbgrader's ``autograde`` give honest work the same grades.

nbgrader's own preprocessors abort the whole run at an unknown schema version. Therefore
nbgrader_config.py puts this one first in ``Autograde.sanitize_preprocessors``, in place of
ClearOutput and DeduplicateIds. A notebook that cannot be restored fails only its own student.
"""

import json
from pathlib import Path

from nbgrader.preprocessors import NbGraderPreprocessor

from roofgrade.restore.restored_notebook import read_release, restore_notebook


class RestoreNotebook(NbGraderPreprocessor):
    """Restores the release's notebook with the student's answers, and logs any problems."""

    def preprocess(self, nb, resources):
        """Restore ``nb``. Raises RefusedError if it contains nothing from the release."""
        where = resources["nbgrader"]
        course = self.parent.parent.coursedir  # The parents are the exporter and its converter.
        folder = course.format_path(course.release_directory, ".", where["assignment"])
        path = Path(folder) / f"{where['notebook']}.ipynb"
        restored = restore_notebook(json.dumps(nb).encode(), read_release(path))
        for remark in restored.remarks:
            self.log.warning("%s, %s: %s", where["student"], where["notebook"], remark)
        return restored.notebook, resources
