"""Fetch sets, submit work and fetch feedback through nbgrader's exchange, if the class has one.

This module runs nbgrader's own commands, so it works with every exchange that nbgrader supports,
such as ngshare. The commands run in the course folder, and read ``nbgrader_config.py`` there and in
Jupyter's config folders.
"""

import contextlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from roofcheck import course
from roofcheck.sentences import sentence

COURSE = "roofline"
SETS = Path("exercises/en")
SETTINGS = "nbgrader_config"
TIMEOUT_SECONDS = 120  # for each command
# The start of a line in nbgrader's log.
LOG_PREFIX = re.compile(r"^\[\w+ \| (\w+)\] *")
DESTINATION = re.compile(r"Destination: (/.+)$", re.MULTILINE)
SERIOUS_LEVELS = ("ERROR", "CRITICAL")

# Like nbgrader's "list" command, but with JSON output.
LIST_SCRIPT = """
import json, sys
from nbgrader.apps import ListApp
from nbgrader.auth import Authenticator
from nbgrader.exchange import ExchangeFactory
app = ListApp.instance()
app.initialize(sys.argv[1:])
known = {"coursedir": app.coursedir, "authenticator": Authenticator(parent=app), "parent": app}
listed = [ExchangeFactory(parent=app).List(cached=each, **known).start() for each in (False, True)]
print(json.dumps(listed))
"""


class ExchangeError(RuntimeError):
    """An exchange command failed; the message tells the student why."""


@dataclass(frozen=True)
class Exchange:
    """The exchange as one student sees it.

    Commands run in ``folder``, and ``sets`` is the folder of the problem sets. ``student`` is the
    user name for submissions. The exchange's listing is cached until the next submission; for a
    fresh one, call ``find_exchange()`` again. Every method can raise ExchangeError.
    """

    folder: Path
    sets: Path
    course: str
    student: str
    _listed: list = field(default_factory=list, compare=False, repr=False)

    def list_released(self) -> list[str]:
        """Return the names of the sets that the teacher has released."""
        released, _ = self._list_exchange()
        return sorted({record["assignment_id"] for record in released})

    def fetch(self, name: str) -> Path:
        """Fetch a set and return its notebook's path. Existing files are never overwritten."""
        notebook = self._notebook(name)
        if not notebook.is_file():
            try:
                self.sets.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                message = sentence("exchange.no_folder", folder=self.sets, why=error.strerror)
                raise ExchangeError(message) from None
            missing = "--ExchangeFetchAssignment.replace_missing_files=True"
            self._run_python(self.sets, "-m", "nbgrader", "fetch_assignment", name, missing)
            if not notebook.is_file():
                raise ExchangeError(sentence("exchange.not_in_it", name=name, file=notebook))
        return notebook

    def submit(self, path: Path, name: str, content: bytes) -> datetime:
        """Submit a notebook's content, with the files in its folder; return the submission time."""
        with tempfile.TemporaryDirectory() as folder:
            staged = Path(folder) / name
            staged.mkdir()
            for source, target in files_beside(path, name):
                (staged / target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, staged / target)
            (staged / f"{name}.ipynb").write_bytes(content)
            log = self._run_python(folder, "-m", "nbgrader", "submit", name).stderr
        # nbgrader lets everyone who knows the folder's name delete what is in it.
        with contextlib.suppress(OSError):  # an exchange elsewhere has no such folder
            if submitted := DESTINATION.search(log):
                Path(submitted[1]).chmod(0o755)
        self._listed.clear()
        return self.submission_time(name) or datetime.now(UTC)

    def submission_time(self, name: str) -> datetime | None:
        """Return when a set was last submitted, or None."""
        from dateutil.parser import parse

        latest = self._latest_submission(name)
        time = parse(latest["timestamp"]) if latest else None
        return time.replace(tzinfo=time.tzinfo or UTC) if time else None

    def last_submission(self, name: str) -> Path | None:
        """Return the folder of the last submission, or None if there is no copy on this machine."""
        latest = self._latest_submission(name)
        folder = Path(latest["path"]) if latest and latest.get("path") else None
        return folder if folder and (folder / f"{name}.ipynb").is_file() else None

    def fetch_feedback(self, name: str) -> Path | None:
        """Return a set's newest feedback page, fetching it if needed, or None."""
        books = [book for work in self._submissions(name) for book in work["notebooks"]]
        if any(
            book["has_exchange_feedback"]
            and (not book["has_local_feedback"] or book["feedback_updated"])
            for book in books
        ):
            self._run_python(self.sets, "-m", "nbgrader", "fetch_feedback", name)
            self._listed.clear()
        pages = self._notebook(name).parent.glob(f"feedback/*/{name}.html")
        return max(pages, key=lambda page: page.parent.name, default=None)

    def _latest_submission(self, name):
        return max(self._submissions(name), key=lambda work: work["timestamp"], default=None)

    def _submissions(self, name):
        _, submitted = self._list_exchange()
        records = (record for record in submitted if record["assignment_id"] == name)
        return [submission for record in records for submission in record["submissions"]]

    def _list_exchange(self):
        """Return nbgrader's lists of released sets and of the student's submissions."""
        if not self._listed:
            output = self._run_python(self.sets, "-c", LIST_SCRIPT).stdout
            try:
                self._listed.extend(json.loads(output))
            except ValueError:
                said = _to_one_line(output)
                raise ExchangeError(sentence("exchange.failed", said=said)) from None
        return self._listed

    def _notebook(self, name):
        return self.sets / name / f"{name}.ipynb"

    def _run_python(self, sets, *arguments):
        """Run Python with these arguments for the course's sets in a folder; return the process."""
        where = f"--Exchange.assignment_dir={sets}"
        command = [sys.executable, *arguments, where, f"--course={self.course}"]
        try:
            done = subprocess.run(
                command, cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise ExchangeError(sentence("exchange.slow", seconds=TIMEOUT_SECONDS)) from None
        if done.returncode:
            raise ExchangeError(sentence("exchange.failed", said=_find_complaint(done.stderr)))
        return done


def find_exchange(folder: Path | None = None) -> Exchange | None:
    """Return the exchange for a folder's course; the folder defaults to the working directory.

    Returns None if nbgrader is not installed or has no exchange on this machine.
    """
    if sys.platform == "win32" or importlib.util.find_spec("nbgrader") is None:
        return None
    its_course = course.find_course(folder)
    place = its_course.root if its_course else Path(folder or Path.cwd()).absolute()
    from nbgrader.exchange.default import Exchange as SharedFolder
    from nbgrader.utils import get_username

    settings = _read_settings(place)
    # If it isn't a shared folder, only its commands can find out.
    root = Path(settings.Exchange.get("root") or SharedFolder.root.default_value)
    if not settings.ExchangeFactory.keys() - {"collect"} and not root.is_dir():
        return None
    names = settings.CourseDirectory
    return Exchange(
        folder=place,
        sets=place / SETS if its_course else place,
        course=names.get("course_id") or COURSE,
        student=names.get("student_id") or get_username(),
    )


def _read_settings(folder):
    """Read nbgrader's settings from Jupyter's config folders and from ``folder``."""
    from jupyter_core.paths import jupyter_config_path
    from traitlets.config import Config
    from traitlets.config.loader import JSONFileConfigLoader, PyFileConfigLoader

    settings = Config()
    for place in (*reversed(jupyter_config_path()), str(folder)):
        for loader, ending in ((PyFileConfigLoader, "py"), (JSONFileConfigLoader, "json")):
            # Ignore errors: nbgrader's commands read the same files and report them.
            with contextlib.suppress(Exception):
                settings.merge(loader(f"{SETTINGS}.{ending}", path=place).load_config())
    return settings


def files_beside(path: Path, name: str) -> Iterator[tuple[Path, Path]]:
    """Yield (path, relative path) of each file that a notebook may read, except notebooks.

    Only a folder named after the set is searched, because any other folder, such as Downloads, may
    contain private files.
    """
    for folder, folders, files in os.walk(path.parent) if path.parent.name == name else ():
        folders[:] = [child for child in folders if not child.startswith((".", "__"))]
        if Path(folder) == path.parent:
            folders[:] = [child for child in folders if child not in ("feedback", "handed-in")]
        for file in files:
            source = Path(folder) / file
            if source.suffix != ".ipynb" and not file.startswith(".") and source.is_file():
                yield source, source.relative_to(path.parent)


def _find_complaint(log):
    """Return the first serious line of nbgrader's log or, if there is none, the last line."""
    lines = [line for line in log.splitlines() if line.strip()]
    serious = [
        line for line in lines if (match := LOG_PREFIX.match(line)) and match[1] in SERIOUS_LEVELS
    ]
    return _to_one_line(serious[0] if serious else lines[-1] if lines else "")


def _to_one_line(text):
    return " ".join(LOG_PREFIX.sub("", text).split())[:300]
