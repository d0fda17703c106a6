"""The folders and settings of a course, as its nbgrader_config.py defines them."""

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
    """The folder of a course, with its submissions, results and gradebook.

    Raises ValueError if ``root`` has no nbgrader_config.py.
    """

    root: Path

    def __post_init__(self):
        if not (self.root / SETTINGS_FILE).is_file():
            raise ValueError(sentence("course.no_settings", file=SETTINGS_FILE, folder=self.root))

    @cached_property
    def config(self) -> Config:
        """nbgrader's settings."""
        return PyFileConfigLoader(SETTINGS_FILE, path=str(self.root)).load_config()

    @cached_property
    def directory(self) -> CourseDirectory:
        """nbgrader's own view of the folder."""
        return CourseDirectory(config=self.config, root=str(self.root))

    @property
    def db_url(self) -> str:
        """The gradebook's address, for SQLAlchemy."""
        return self.directory.db_url

    @property
    def submitted(self) -> Path:
        """The folder with one folder per student, each with one folder per set."""
        return self.root / self.directory.submitted_directory

    @property
    def autograded(self) -> Path:
        return self.root / self.directory.autograded_directory

    @property
    def feedback(self) -> Path:
        return self.root / self.directory.feedback_directory

    def released_sets(self) -> tuple[str, ...]:
        """The names of the sets that have a release."""
        folder = self.root / self.directory.release_directory
        return tuple(sorted(path.parent.name for path in folder.glob("*/*.ipynb")))

    def release_path(self, assignment: str) -> Path:
        """The path of the released notebook. Raises ValueError if there is none."""
        path = self._notebook(self.directory.release_directory, assignment)
        if not path.is_file():
            known = ", ".join(self.released_sets())
            key = "course.no_release" if known else "course.no_releases"
            raise ValueError(sentence(key, assignment=assignment, path=path, known=known))
        return path

    def source_path(self, assignment: str) -> Path:
        """The path of the notebook with the solutions."""
        return self._notebook(self.directory.source_directory, assignment)

    def private_paths(self) -> tuple[Path, ...]:
        """The paths that no student may see: everything except the release."""
        kinds = ("source", "submitted", "autograded", "feedback")
        names = ("", "grading", *(getattr(self.directory, f"{kind}_directory") for kind in kinds))
        paths = [self.root / name for name in names]
        gradebook, exchange = make_url(self.db_url), self.config.Exchange.get("root")
        if gradebook.get_backend_name() == "sqlite" and gradebook.database:
            paths.append(self.root / gradebook.database)
        return (*paths, *([Path(exchange)] if exchange else []))

    @property
    def shared(self) -> bool:
        """Whether several teachers work on the course, as users of one group."""
        return self.directory.groupshared

    @property
    def grading(self) -> Path:
        """The folder with the results and the key of the cases, which is created if missing.

        Only its owner can read it; in a ``shared`` course, the group can, too.
        """
        folder = self.root / "grading"
        folder.mkdir(mode=0o700, exist_ok=True)
        return self.open_to_group(folder)

    def open_to_group(self, path: Path) -> Path:
        """Let the group write a file or folder if the course is ``shared``, and return its path."""
        if self.shared:
            safe_files.let_group_write(path)
        return path

    @cached_property
    def case_key(self) -> bytes:
        """The secret key from which each student's cases are drawn, created once."""
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
        """The seed of the cases on which one student's work is tried.

        ``files`` is the hash of the submitted files. Unchanged work gets the same cases again.
        Changed work gets new ones, so knowing the last cases doesn't help.
        """
        message = f"{assignment}/{student}/{files}".encode()
        return hmac.new(self.case_key, message, "sha256").hexdigest()

    def _notebook(self, folder, assignment):
        return self.root / folder / assignment / f"{assignment}.ipynb"
