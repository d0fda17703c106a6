"""nbgrader's gradebook, held open: one engine for a whole run, one transaction a submission.

nbgrader's preprocessors open the gradebook anew for every notebook and commit after every cell.
Here they are lent the one that is open, whose commits wait for the end of the transaction.
"""

import contextlib
import json
import logging
import sqlite3
from pathlib import Path

import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory
from nbgrader import api, dbutil
from nbgrader.api import Gradebook, InvalidEntry
from sqlalchemy.orm import scoped_session, sessionmaker

from roofgrade.common.sentences import sentence
from roofgrade.course import Course

# Foreign keys that nbgrader looks things up by: without an index each look-up reads the table.
INDEXES = {
    "grade": "notebook_id",
    "comment": "notebook_id",
    "submitted_notebook": "assignment_id",
    "submitted_assignment": "student_id",
}
# A table beside those of nbgrader: it notes, by name, what was registered and saved.
NOTES_TABLE = sa.Table(
    "roofkit_notes",
    sa.MetaData(),
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
# PostgreSQL's code of a full disk (PostgreSQL docs, Appendix A, "PostgreSQL Error Codes").
DISK_FULL = "53100"
# nbgrader logs here what it does, and nobody reads it.
QUIET_LOG = logging.getLogger(__name__)
QUIET_LOG.addHandler(logging.NullHandler())
QUIET_LOG.propagate = False


class GradebookError(RuntimeError):
    """The gradebook cannot be used now; nothing that was graded is lost."""


class CourseGradebook(Gradebook):
    """The gradebook of a course, with the indexes that nbgrader leaves out.

    Whoever holds it is waited for, ``patience`` seconds at a time; then GradebookError is raised.
    """

    def __init__(self, course: Course, patience: float):
        with explain_errors(course.db_url):
            with _without_alembic_program():
                url = _add_lock_timeout(course.db_url, patience)
                super().__init__(url, course.directory.course_id)
            self.url = course.db_url
            self.db.remove()
            if self.engine.dialect.name == "sqlite":
                course.open_to_group(Path(self.engine.url.database))
            with self.engine.begin() as connection:
                NOTES_TABLE.create(connection, checkfirst=True)
                for table, column in INDEXES.items():
                    connection.exec_driver_sql(
                        f"create index if not exists roofkit_{table} on {table} ({column})"
                    )

    def close(self):
        """Do nothing: those whom the gradebook is lent to close it, and it stays open."""

    def close_database(self):
        """Let go of the database."""
        super().close()

    @contextlib.contextmanager
    def transaction(self):
        """A session whose commits count only when this ends without an error."""
        with self.engine.connect() as connection, connection.begin():
            if self.engine.dialect.name == "sqlite":
                # Wait for the lock here, where nothing has been done yet.
                connection.exec_driver_sql("begin immediate")
            self.db = scoped_session(
                sessionmaker(connection, join_transaction_mode="rollback_only",
                             expire_on_commit=False, autoflush=False)
            )  # fmt: skip
            try:
                yield self.db
                self.db.commit()
            finally:
                self.db.remove()

    def read_note(self, name: str) -> dict:
        """What was noted under a name, empty if nothing was."""
        with self.engine.connect() as connection:
            found = connection.scalar(
                sa.select(NOTES_TABLE.c.value).where(NOTES_TABLE.c.name == name)
            )
        return json.loads(found or "{}")

    def write_note(self, name: str, value: dict):
        """Note a value that JSON can hold, within a transaction."""
        self.db.execute(sa.delete(NOTES_TABLE).where(NOTES_TABLE.c.name == name))
        self.db.execute(sa.insert(NOTES_TABLE).values(name=name, value=json.dumps(value)))


@contextlib.contextmanager
def lend_gradebook(gradebook, module):
    """Lets a module of nbgrader use what is open, where it would open a gradebook of its own."""
    own, module.Gradebook = module.Gradebook, lambda *_: gradebook
    try:
        yield
    finally:
        module.Gradebook = own


@contextlib.contextmanager
def explain_errors(url):
    """Raises GradebookError if a database does not serve; errors in the data pass as they are.

    What nbgrader logs of them, with tracebacks, is not shown.
    """
    loud, api.app_log = api.app_log, QUIET_LOG
    try:
        yield
    except (sa.exc.DBAPIError, sa.exc.ArgumentError, InvalidEntry) as error:
        # nbgrader puts its own error in the place of a database's.
        cause = error.__context__ if isinstance(error, InvalidEntry) else error
        if isinstance(cause, (sa.exc.IntegrityError, sa.exc.DataError, type(None))):
            raise
        address = sa.make_url(url).render_as_string() if "://" in url else url
        reason = getattr(cause, "orig", cause)
        key = "book.full" if _is_full(reason) else "book.unusable"
        raise GradebookError(sentence(key, address=address, reason=reason)) from error
    finally:
        api.app_log = loud


def _is_full(reason):
    """Whether a database has no room left, as SQLite or PostgreSQL says it."""
    full = getattr(reason, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return full or getattr(reason, "sqlstate", None) == DISK_FULL


@contextlib.contextmanager
def _without_alembic_program():
    """Have nbgrader find the version of a new gradebook here: by itself it starts a program."""
    settings = Config()
    settings.set_main_option("script_location", dbutil.ALEMBIC_DIR)
    own = api.get_alembic_version
    api.get_alembic_version = ScriptDirectory.from_config(settings).get_current_head
    try:
        yield
    finally:
        api.get_alembic_version = own


def _add_lock_timeout(url, patience):
    """The address that tells the database, too, how long to wait for a lock."""
    parsed = sa.make_url(url)
    waiting = {
        "sqlite": {"timeout": f"{patience:g}"},
        "postgresql": {"options": f"-c lock_timeout={patience:g}s"},
    }
    asked = waiting.get(parsed.get_backend_name(), {}) | dict(parsed.query)
    return parsed.set(query=asked).render_as_string(hide_password=False)
