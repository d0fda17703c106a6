"""What nbgrader's own ``autograde`` needs, so that it gives honest work the same grades.

nbgrader checks a cell's schema version in its preprocessors alone, and one that it does not know
ends the whole run. So the first step of ``Autograde.sanitize_preprocessors`` builds the notebook
anew, before any other looks at it: nbgrader_config.py puts ``RestoreNotebook`` in the place of ClearOutput and
DeduplicateIds. A notebook that cannot be mended is an error of its own student alone.
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
    """The release's notebook with the student's words in it; what was mended goes to the log."""

    def preprocess(
        self, nb: NotebookNode, resources: ResourcesDict
    ) -> tuple[NotebookNode, ResourcesDict]:
        """Raises RefusedError if ``nb`` has nothing of the release in it."""
        where = resources["nbgrader"]
        course = self.parent.parent.coursedir  # the exporter's, and its converter's
        folder = course.format_path(course.release_directory, ".", where["assignment"])
        path = Path(folder) / f"{where['notebook']}.ipynb"
        mended = restore_notebook(
            json.dumps(nb).encode(), _read_release(path, path.stat().st_mtime_ns)
        )
        for remark in mended.remarks:
            self.log.warning("%s, %s: %s", where["student"], where["notebook"], remark)
        return mended.notebook, resources


@functools.lru_cache(maxsize=8)
def _read_release(path, changed):
    """The release, read again whenever its time of change is another."""
    return nbformat.read(path, as_version=4)
