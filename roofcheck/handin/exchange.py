"""nbgrader's exchange, where a class has one: sets come from it, work goes to it, feedback returns.

Everything is done by nbgrader's own commands, so that any exchange serves that nbgrader is set up
for, such as ngshare's. They run in the course's folder: an ``nbgrader_config.py`` there counts, and
so do those in Jupyter's folders of settings.
"""

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
TIMEOUT_SECONDS = 120  # seconds that a command may take
# Lines that nbgrader logs begin so.
LOG_PREFIX = re.compile(r"^\[\w+ \| (\w+)\] *")
SERIOUS_LEVELS = ("ERROR", "CRITICAL")


# nbgrader's command list says it in words alone; this is what that command does, as data.
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
    """The exchange did not do what was asked; the message says why, for a student."""


@dataclass(frozen=True)
class Exchange:
    """The exchange as one student sees it.

    ``folder`` is where commands run, and below it lie the sets, in ``sets``; ``student`` is the
    name under which work is handed in. It looks into the exchange once, and again after it has
    handed something in: ``find_exchange()`` gives one that looks anew. Every method raises ExchangeError.
    """

    folder: Path
    sets: Path
    course: str
    student: str
    _listed: list = field(default_factory=list, compare=False, repr=False)

    def list_released(self) -> list[str]:
        """The sets that the teacher has laid out, by name."""
        released, _ = self._list_exchange()
        return sorted({each["assignment_id"] for each in released})

    def fetch(self, name: str) -> Path:
        """Get a set, and return its notebook. What lies there of it already stays as it is."""
        notebook = self._notebook(name)
        if not notebook.is_file():
            self._make_folder(self.sets)
            self._run_nbgrader("fetch_assignment", name, f"--Exchange.assignment_dir={self.sets}",
                           "--ExchangeFetchAssignment.replace_missing_files=True")  # fmt: skip
            if not notebook.is_file():
                raise ExchangeError(sentence("exchange.not_in_it", name=name, file=notebook))
        return notebook

    def submit(self, path: Path, name: str) -> datetime:
        """Hand in a notebook as that of a set, with the files that lie beside it; when that was."""
        with tempfile.TemporaryDirectory() as folder:
            staged = Path(folder) / name
            staged.mkdir()
            for source, target in files_beside(path, name):
                (staged / target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, staged / target)
            shutil.copyfile(path, staged / f"{name}.ipynb")
            self._run_nbgrader("submit", name, f"--Exchange.assignment_dir={folder}")
        self._listed.clear()
        return self.submission_time(name) or datetime.now(UTC)

    def submission_time(self, name: str) -> datetime | None:
        """When the set was handed in last, or None."""
        latest = self._latest_submission(name)
        return _read_time(latest["timestamp"]) if latest else None

    def last_submission(self, name: str) -> Path | None:
        """The folder with what was handed in last, as far as this machine keeps a copy of it."""
        latest = self._latest_submission(name)
        found = Path(latest["path"]) if latest and latest.get("path") else None
        return found if found and (found / f"{name}.ipynb").is_file() else None

    def fetch_feedback(self, name: str) -> Path | None:
        """The newest feedback page of a set, fetched if it was not here yet, or None."""
        books = [book for each in self._submissions(name) for book in each["notebooks"]]
        if any(
            book["has_exchange_feedback"]
            and (not book["has_local_feedback"] or book["feedback_updated"])
            for book in books
        ):
            where = f"--Exchange.assignment_dir={self.sets}"
            self._run_nbgrader("fetch_feedback", name, where)
            self._listed.clear()
        pages = self._notebook(name).parent.glob(f"feedback/*/{name}.html")
        return max(pages, key=lambda page: page.parent.name, default=None)

    def _latest_submission(self, name):
        return max(self._submissions(name), key=lambda each: each["timestamp"], default=None)

    def _submissions(self, name):
        _, submitted = self._list_exchange()
        mine = (each for each in submitted if each["assignment_id"] == name)
        return [each for found in mine for each in found["submissions"]]

    def _list_exchange(self):
        """What is laid out, and what was handed in from here, as nbgrader lists them."""
        if not self._listed:
            said = self._run_python("-c", LIST_SCRIPT, f"--Exchange.assignment_dir={self.sets}")
            try:
                self._listed.extend(json.loads(said))
            except ValueError:
                raise ExchangeError(sentence("exchange.failed", said=_to_one_line(said))) from None
        return self._listed

    def _notebook(self, name):
        return self.sets / name / f"{name}.ipynb"

    def _make_folder(self, folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = error.strerror
            raise ExchangeError(sentence("exchange.no_folder", folder=folder, why=why)) from None

    def _run_nbgrader(self, command, *arguments):
        return self._run_python("-m", "nbgrader", command, *arguments)

    def _run_python(self, *arguments):
        """What this Python prints, run on something of nbgrader's for this course."""
        typed = [sys.executable, *arguments, f"--course={self.course}"]
        try:
            done = subprocess.run(
                typed, cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise ExchangeError(sentence("exchange.slow", seconds=TIMEOUT_SECONDS)) from None
        if done.returncode:
            raise ExchangeError(sentence("exchange.failed", said=_find_complaint(done.stderr)))
        return done.stdout


def find_exchange(folder: Path | None = None) -> Exchange | None:
    """The exchange of the course in which a place lies, by default the working directory.

    None where nbgrader is not installed, or has no exchange on this machine.
    """
    if sys.platform == "win32" or importlib.util.find_spec("nbgrader") is None:
        return None
    found = course.find_course(folder)
    place = found.root if found else Path(folder or Path.cwd()).absolute()
    settings = _read_settings(place)
    if not _is_there(settings):
        return None
    from nbgrader.utils import get_username

    asked = settings.CourseDirectory
    return Exchange(
        folder=place,
        sets=place / SETS if found else place,
        course=asked.get("course_id") or COURSE,
        student=asked.get("student_id") or get_username(),
    )


def _read_settings(folder):
    """What nbgrader_config.py says, in Jupyter's folders of settings and in this one."""
    from jupyter_core.paths import jupyter_config_path
    from traitlets.config import Config
    from traitlets.config.loader import (
        ConfigFileNotFound,
        JSONFileConfigLoader,
        PyFileConfigLoader,
    )

    found = Config()
    for place in (*reversed(jupyter_config_path()), str(folder)):
        for loader, ending in ((PyFileConfigLoader, "py"), (JSONFileConfigLoader, "json")):
            try:
                found.merge(loader(f"{SETTINGS}.{ending}", path=place).load_config())
            except ConfigFileNotFound:
                continue
            except Exception:
                continue  # nbgrader's commands read it too, and say what is wrong with it
    return found


def _is_there(settings):
    if settings.ExchangeFactory:
        return True  # another exchange than a shared folder, which is asked when it is used
    from nbgrader.exchange.default import Exchange as Folder

    return Path(settings.Exchange.get("root") or Folder.root.default_value).is_dir()


def files_beside(path: Path, name: str) -> Iterator[tuple[Path, Path]]:
    """Files beside a notebook that it may read, with their paths from there; no other notebooks.

    Only where it lies in a folder of its set: another may hold anything.
    """
    for folder, folders, files in os.walk(path.parent) if path.parent.name == name else ():
        folders[:] = [each for each in folders if not each.startswith((".", "__"))]
        if Path(folder) == path.parent:
            folders[:] = [each for each in folders if each not in ("feedback", "handed-in")]
        for name in files:
            source = Path(folder) / name
            if source.suffix != ".ipynb" and not name.startswith(".") and source.is_file():
                yield source, source.relative_to(path.parent)


def _read_time(text):
    from dateutil.parser import parse

    found = parse(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _find_complaint(log):
    """What nbgrader logged that is serious, or else its last line."""
    lines = [line for line in log.splitlines() if line.strip()]
    serious = [line for line in lines if (at := LOG_PREFIX.match(line)) and at[1] in SERIOUS_LEVELS]
    return _to_one_line((serious or lines or [""])[-1 if not serious else 0])


def _to_one_line(text):
    return " ".join(LOG_PREFIX.sub("", text).split())[:300]
