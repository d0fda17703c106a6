"""Where a course keeps what, as its nbgrader_config.py says."""

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
    """The folder of a course: what came in, what was graded, and the gradebook's address.

    Raises ValueError if ``root`` holds no nbgrader_config.py.
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
        """Holds a folder for each student, and in it one for each set."""
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
        """The notebook that students got. Raises ValueError if there is none."""
        path = self._notebook(self.directory.release_directory, assignment)
        if not path.is_file():
            known = ", ".join(self.released_sets())
            key = "course.no_release" if known else "course.no_releases"
            raise ValueError(sentence(key, assignment=assignment, path=path, known=known))
        return path

    def source_path(self, assignment: str) -> Path:
        """The notebook with the solutions."""
        return self._notebook(self.directory.source_directory, assignment)

    def private_paths(self) -> tuple[Path, ...]:
        """What no student may see: all but the release, wherever nbgrader's settings put it."""
        kinds = ("source", "submitted", "autograded", "feedback")
        names = ("", "grading", *(getattr(self.directory, f"{kind}_directory") for kind in kinds))
        found = [self.root / name for name in names]
        gradebook, exchange = make_url(self.db_url), self.config.Exchange.get("root")
        if gradebook.get_backend_name() == "sqlite" and gradebook.database:
            found.append(self.root / gradebook.database)
        return (*found, *([Path(exchange)] if exchange else []))

    @property
    def shared(self) -> bool:
        """Whether several teachers work on the course, as users of one group."""
        return self.directory.groupshared

    @property
    def grading(self) -> Path:
        """Where grading keeps results and the key of the draws.

        Others cannot read it, but for the group where the course is ``shared``.
        """
        folder = self.root / "grading"
        folder.mkdir(mode=0o700, exist_ok=True)
        return self.open_to_group(folder)

    def open_to_group(self, path: Path) -> Path:
        """A file or folder, which the group may write where the course is ``shared``."""
        if self.shared:
            safe_files.let_group_write(path)
        return path

    @cached_property
    def case_key(self) -> bytes:
        """The secret from which each student's cases are drawn: made once, then kept."""
        path = self.grading / "key"
        if not path.exists():
            made = path.with_suffix(f".{secrets.token_hex(4)}")
            try:
                made.touch(mode=0o600)
                made.write_text(secrets.token_hex(32))
                self.open_to_group(made)
                with contextlib.suppress(FileExistsError):  # another run was first
                    path.hardlink_to(made)
            finally:
                made.unlink(missing_ok=True)
        return bytes.fromhex(self.open_to_group(path).read_text())

    def case_secret(self, assignment: str, student: str, files: str) -> str:
        """What the cases are drawn from that one student's work is tried on.

        ``files`` is the hash of what was handed in: the same work meets the same cases, and who
        hands in anew meets others, so that knowing the last ones helps nobody.
        """
        drawn_for = f"{assignment}/{student}/{files}".encode()
        return hmac.new(self.case_key, drawn_for, "sha256").hexdigest()

    def _notebook(self, folder, assignment):
        return self.root / folder / assignment / f"{assignment}.ipynb"
