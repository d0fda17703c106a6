"""The preprocessor that lets nbgrader's own ``autograde`` give honest work the same grades.

nbgrader's preprocessors end the whole run at an unknown schema version. So nbgrader_config.py makes
this the first of ``Autograde.sanitize_preprocessors``, instead of ClearOutput and DeduplicateIds.
A notebook that cannot be restored fails only its own student.
"""

import functools
import json
from pathlib import Path

import nbformat
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from roofgrade.restore.restored_notebook import restore_notebook


class RestoreNotebook(NbGraderPreprocessor):
    """Restores the release's notebook with the student's answers, and logs what was wrong."""

    def preprocess(
        self, nb: NotebookNode, resources: ResourcesDict
    ) -> tuple[NotebookNode, ResourcesDict]:
        """Raises RefusedError if ``nb`` has nothing of the release in it."""
        where = resources["nbgrader"]
        course = self.parent.parent.coursedir  # The parents are the exporter and its converter.
        folder = course.format_path(course.release_directory, ".", where["assignment"])
        path = Path(folder) / f"{where['notebook']}.ipynb"
        release = _read_release(path, path.stat().st_mtime_ns)
        restored = restore_notebook(json.dumps(nb).encode(), release)
        for remark in restored.remarks:
            self.log.warning("%s, %s: %s", where["student"], where["notebook"], remark)
        return restored.notebook, resources


@functools.lru_cache(maxsize=8)
def _read_release(path, changed):
    return nbformat.read(path, as_version=4)
