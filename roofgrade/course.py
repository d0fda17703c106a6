"""A course's folders and settings, as defined in its nbgrader_config.py."""

import contextlib
import hmac
import secrets
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from sqlalchemy.engine import make_url
from traitlets.config import Config, PyFileConfigLoader

from roofgrade.common import safe_files
from roofgrade.common.sentences import sentence

SETTINGS_FILE = "nbgrader_config.py"


@dataclass(frozen=True)
class Course:
    """A course folder with its submissions, results and gradebook.

    Raises ValueError if ``root`` has no nbgrader_config.py.
    """

    root: Path

    def __post_init__(self):
        if not (self.root / SETTINGS_FILE).is_file():
            raise ValueError(sentence("course.no_settings", file=SETTINGS_FILE, folder=self.root))

    @cached_property
    def config(self) -> Config:
        return PyFileConfigLoader(SETTINGS_FILE, path=str(self.root)).load_config()

    @cached_property
    def directory(self) -> CourseDirectory:
        """nbgrader's own object for the folder."""
        return CourseDirectory(config=self.config, root=str(self.root))

    @property
    def db_url(self) -> str:
        """The gradebook's URL, for SQLAlchemy."""
        return self.directory.db_url

    @property
    def submitted(self) -> Path:
        """The folder of submissions, as STUDENT/SET."""
        return self.root / self.directory.submitted_directory

    @property
    def autograded(self) -> Path:
        return self.root / self.directory.autograded_directory

    @property
    def feedback(self) -> Path:
        return self.root / self.directory.feedback_directory

    def released_sets(self) -> tuple[str, ...]:
        """Return the names of the sets that have a release."""
        folder = self.root / self.directory.release_directory
        return tuple(sorted(path.parent.name for path in folder.glob("*/*.ipynb")))

    def release_path(self, assignment: str) -> Path:
        """Return the path of the released notebook. Raises ValueError if there is none."""
        path = self._notebook(self.directory.release_directory, assignment)
        if not path.is_file():
            known = ", ".join(self.released_sets())
            key = "course.no_release" if known else "course.no_releases"
            raise ValueError(sentence(key, assignment=assignment, path=path, known=known))
        return path

    def source_path(self, assignment: str) -> Path:
        """Return the path of the notebook with the solutions."""
        return self._notebook(self.directory.source_directory, assignment)

    def private_paths(self) -> tuple[Path, ...]:
        """Return the paths that no student may see: everything except the release."""
        kinds = ("source", "submitted", "autograded", "feedback")
        names = ("", "grading", *(getattr(self.directory, f"{kind}_directory") for kind in kinds))
        paths = [self.root / name for name in names]
        gradebook, exchange = make_url(self.db_url), self.config.Exchange.get("root")
        if gradebook.get_backend_name() == "sqlite" and gradebook.database:
            paths.append(self.root / gradebook.database)
        return (*paths, *([Path(exchange)] if exchange else []))

    @property
    def shared(self) -> bool:
        """Whether several teachers, as users in one group, work on the course."""
        return self.directory.groupshared

    @property
    def grading(self) -> Path:
        """The folder with the results and the case key, created if missing.

        It is readable by its owner and, in a ``shared`` course, by the group.
        """
        folder = self.root / "grading"
        folder.mkdir(mode=0o700, exist_ok=True)
        return self.open_to_group(folder)

    def open_to_group(self, path: Path) -> Path:
        """Make a file or folder group-writable if the course is ``shared``, and return its path."""
        if self.shared:
            safe_files.let_group_write(path)
        return path

    @cached_property
    def case_key(self) -> bytes:
        """The secret key from which students' cases are drawn, created on first use."""
        path = self.grading / "key"
        if not path.exists():
            new_file = path.with_suffix(f".{secrets.token_hex(4)}")
            try:
                new_file.touch(mode=0o600)
                new_file.write_text(secrets.token_hex(32))
                self.open_to_group(new_file)
                with contextlib.suppress(FileExistsError):  # another run created it first
                    path.hardlink_to(new_file)
            finally:
                new_file.unlink(missing_ok=True)
        return bytes.fromhex(self.open_to_group(path).read_text())

    def case_secret(self, assignment: str, student: str, files: str) -> str:
        """Return the seed of the cases that test one student's work.

        ``files`` is the hash of the submitted files. Unchanged work gets the same cases again.
        Changed work gets new ones, so knowing the previous cases does not help.
        """
        message = f"{assignment}/{student}/{files}".encode()
        return hmac.new(self.case_key, message, "sha256").hexdigest()

    def _notebook(self, folder, assignment):
        return self.root / folder / assignment / f"{assignment}.ipynb"
