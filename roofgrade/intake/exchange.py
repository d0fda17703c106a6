"""A safe exchange for machines where students have accounts: its folders, and ``nbgrader collect``.

``Collect`` replaces nbgrader's own collector, which follows links in a submission, even to the
solutions, only warns about work submitted under another student's name, and believes the time that
the student wrote.
"""

import os
import pwd
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nbgrader.exchange.default import ExchangeCollect

from roofgrade.common.errors import RefusedError
from roofgrade.common.sentences import escape_text, sentence
from roofgrade.intake import names
from roofgrade.intake.bounded_files import read_files

# Files that change within this time of the stated time were still being copied.
COPY_TIME = timedelta(minutes=10)
# How many of an account's latest submissions are read to find one that can be collected.
MOST_TRIES = 5
# The record of a folder that is not collected. init_src drops it.
NO_RECORD = {"username": None, "filename": "", "timestamp": datetime.min}
# nbgrader's modes plus the sticky bit, so nobody can move or delete other people's files.
ROOT_MODE, MODES = 0o1777, {"": 0o755, "outbound": 0o755, "inbound": 0o3733, "feedback": 0o711}


def make_exchange(root: Path, course_id: str, account: str = "", *, shared: bool = False) -> str:
    """Create the exchange's folders, and return the account that owns them.

    This is the user, also of sudo, unless root names another ``account``. If the folders were
    missing, the first account to use them would own them. Existing folders get the right mode.
    Raises ValueError if one is a link or someone else's.
    """
    user = os.geteuid()
    user_id = user or int(os.environ.get("SUDO_UID", 0))
    owner = pwd.getpwnam(account) if account else pwd.getpwuid(user_id)
    root.parent.mkdir(parents=True, exist_ok=True)
    modes = {root / course_id / name: mode | 0o2060 * shared for name, mode in MODES.items()}
    for folder, mode in ({root: ROOT_MODE} | modes).items():
        folder.mkdir(exist_ok=True)
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (user, owner.pw_uid):
            raise ValueError(sentence("collect.not_yours", folder=folder, owner=owner.pw_name))
        if user == 0:
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        folder.chmod(mode)
    return owner.pw_name


class Collect(ExchangeCollect):
    """Collects only the work that each account handed in itself, and follows no links.

    The time of a submission is the later one of the times in the folder's name and on the disk.
    """

    def init_src(self):
        """Find each student's latest submission, and log those that cannot be collected."""
        self._times = {}
        super().init_src()
        self.src_records = [rec for rec in self.src_records if rec["username"] is not None]

    def _path_to_record(self, path):
        name = os.path.basename(path)
        try:
            record, folder = super()._path_to_record(path), os.lstat(path)
            owner = pwd.getpwuid(folder.st_uid).pw_name
            if not stat.S_ISDIR(folder.st_mode) or owner != record["username"]:
                raise RefusedError(sentence("collect.owner", owner=owner))
            return record
        except Exception as error:  # One folder must not stop the others.
            self.log.error(sentence("collect.left", name=escape_text(name), why=error))
            return NO_RECORD

    def _sort_by_timestamp(self, records):
        """Return only the latest of an account's submissions that can be collected, in a list.

        Reading all of them would let one account keep everyone waiting.
        """
        latest = [r for r in super()._sort_by_timestamp(records) if r["username"] is not None]
        if self.before_duedate and self.duedate:
            latest.sort(key=lambda record: record["timestamp"] > self.duedate)
        for record in latest[:MOST_TRIES]:
            try:
                return [self._check_time(record)]
            except Exception as error:
                name = escape_text(record["filename"])
                self.log.error(sentence("collect.left", name=name, why=error))
        return [NO_RECORD]

    def _check_time(self, record):
        """Return a record with the time that counts. Raises an error if it is not acceptable."""
        name, stated = record["filename"], record["filename"].rsplit("+", 3)[2]
        changed = _find_change_time(Path(self.inbound_path, name))
        self._times[name] = {names.TIMESTAMP: stated}
        if changed <= record["timestamp"] + COPY_TIME:
            return record
        times = {"time": record["timestamp"], "changed": changed}
        self.log.warning(sentence("collect.changed", student=record["username"], **times))
        self._times[name] = {names.TIMESTAMP: f"{changed} UTC", names.STATED_TIME: stated}
        return record | {"timestamp": changed}

    def do_copy(self, src, dest, log=None):
        """Copy a submission, and add files with its time and, if it differs, the stated time."""
        source, target = Path(src), Path(dest)
        try:
            found = read_files(source.parent, source.name)
        except Exception as error:
            self.log.error(sentence("collect.left", name=escape_text(source.name), why=error))
            return
        files = {name: file.data for name, file in found.items() if name != names.STATED_TIME}
        files |= {name: time.encode() for name, time in self._times[source.name].items()}
        for name, data in files.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(data)


def _find_change_time(path):
    """Return when a submission last changed, in UTC, or raise if it may not be collected."""
    files = read_files(path.parent, path.name)
    if any(file.is_hard_linked for file in files.values()):
        raise RefusedError(sentence("collect.linked"))
    latest = max(os.lstat(name).st_ctime for name in (path, *map(path.joinpath, files)))
    return datetime.fromtimestamp(latest, UTC).replace(tzinfo=None)
