"""Keeps nbgrader's gradebook open: one engine per run, one transaction per submission.

nbgrader's preprocessors open the gradebook for each notebook and commit after each cell. Here they
use the open one, whose commits take effect at the end of the transaction.
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

# Foreign keys that nbgrader searches by. Without an index, each search reads the whole table.
INDEXES = {
    "grade": "notebook_id",
    "comment": "notebook_id",
    "submitted_notebook": "assignment_id",
    "submitted_assignment": "student_id",
}
# An extra table that records, by name, what has been registered and saved.
NOTES_TABLE = sa.Table(
    "roofkit_notes",
    sa.MetaData(),
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
WAIT_SECONDS = 60  # for someone else's lock on the gradebook
# PostgreSQL's code for a full disk (PostgreSQL docs, Appendix A, "PostgreSQL Error Codes").
DISK_FULL = "53100"
# nbgrader's log goes to this logger, which discards it.
QUIET_LOG = logging.getLogger(__name__)
QUIET_LOG.addHandler(logging.NullHandler())
QUIET_LOG.propagate = False


class GradebookError(RuntimeError):
    """The gradebook is unusable at the moment. Graded work is kept."""


class CourseGradebook(Gradebook):
    """The gradebook of a course, with the indexes that nbgrader leaves out.

    It waits up to WAIT_SECONDS for a lock before it raises GradebookError.
    """

    def __init__(self, course: Course):
        with explain_errors(course.db_url):
            with _without_alembic_program():
                url = _add_lock_timeout(course.db_url, WAIT_SECONDS)
                super().__init__(url, course.directory.course_id)
            self.url = course.db_url
            self.db.remove()
            if self.engine.dialect.name == "sqlite":
                course.open_to_group(Path(self.engine.url.database))
            with self.engine.begin() as connection:
                NOTES_TABLE.create(connection, checkfirst=True)
                for table, column in INDEXES.items():
                    index = f"roofkit_{table} on {table} ({column})"
                    connection.exec_driver_sql(f"create index if not exists {index}")

    def close(self):
        """Do nothing: nbgrader closes the gradebooks it uses, but this one must stay open."""

    def close_database(self):
        super().close()

    @contextlib.contextmanager
    def transaction(self):
        """Open a session whose commits take effect only if the block ends without an error."""
        with self.engine.connect() as connection, connection.begin():
            if self.engine.dialect.name == "sqlite":
                # Wait for the lock before any work is done.
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
        """Return the note with a name, or an empty dict."""
        query = sa.select(NOTES_TABLE.c.value).where(NOTES_TABLE.c.name == name)
        with self.engine.connect() as connection:
            note = connection.scalar(query)
        return json.loads(note or "{}")

    def write_note(self, name: str, value: dict):
        """Store a JSON value under a name, within a transaction."""
        self.db.execute(sa.delete(NOTES_TABLE).where(NOTES_TABLE.c.name == name))
        self.db.execute(sa.insert(NOTES_TABLE).values(name=name, value=json.dumps(value)))


@contextlib.contextmanager
def open_gradebook(course: Course):
    """Yield the course's gradebook, and close it. Raises GradebookError if the database fails."""
    book = CourseGradebook(course)
    try:
        with explain_errors(book.url):
            yield book
    finally:
        book.close_database()


def lend_gradebook(gradebook, module):
    """Make an nbgrader module use this gradebook instead of opening its own."""
    return _replace_attribute(module, "Gradebook", lambda *_: gradebook)


@contextlib.contextmanager
def explain_errors(url):
    """Raise GradebookError if the database fails; let errors in the data through.

    nbgrader's own log of these errors, with tracebacks, is suppressed.
    """
    try:
        with _replace_attribute(api, "app_log", QUIET_LOG):
            yield
    except (sa.exc.DBAPIError, sa.exc.ArgumentError, InvalidEntry) as error:
        # nbgrader raises its own error in place of the database's.
        cause = error.__context__ if isinstance(error, InvalidEntry) else error
        if isinstance(cause, (sa.exc.IntegrityError, sa.exc.DataError, type(None))):
            raise
        address = sa.make_url(url).render_as_string() if "://" in url else url
        reason = getattr(cause, "orig", cause)
        full = (
            getattr(reason, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
            or getattr(reason, "sqlstate", None) == DISK_FULL
        )
        key = "book.full" if full else "book.unusable"
        raise GradebookError(sentence(key, address=address, reason=reason)) from error


def _without_alembic_program():
    """Read a new gradebook's version here, since nbgrader would start a program to do it."""
    settings = Config()
    settings.set_main_option("script_location", dbutil.ALEMBIC_DIR)
    get_version = ScriptDirectory.from_config(settings).get_current_head
    return _replace_attribute(api, "get_alembic_version", get_version)


@contextlib.contextmanager
def _replace_attribute(module, name, value):
    original = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, original)


def _add_lock_timeout(url, patience):
    """Return a URL that makes the database wait this many seconds for a lock."""
    parsed = sa.make_url(url)
    timeouts = {
        "sqlite": {"timeout": f"{patience:g}"},
        "postgresql": {"options": f"-c lock_timeout={patience:g}s"},
    }
    query = timeouts.get(parsed.get_backend_name(), {}) | dict(parsed.query)
    return parsed.set(query=query).render_as_string(hide_password=False)
