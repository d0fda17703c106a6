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
# nbgrader's modes plus the sticky bit, so nobody can move or delete other people's files.
ROOT_MODE, MODES = 0o1777, {"": 0o755, "outbound": 0o755, "inbound": 0o3733, "feedback": 0o711}


def make_exchange(root: Path, course_id: str, *, shared: bool = False) -> str:
    """Create the exchange's folders, and return the account that owns them: the user, also of sudo.

    If they were missing, the first account to use them would own them. Existing folders get the
    right mode. Raises ValueError if one is a link or someone else's.
    """
    user = os.geteuid()
    owner = pwd.getpwuid(user or int(os.environ.get("SUDO_UID", 0)))
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
            record = super()._path_to_record(path)
            changed = _check_submission(Path(path), record["username"])
        except Exception as error:  # One folder must not stop the others.
            self.log.error(sentence("collect.left", name=escape_text(name), why=error))
            # init_src drops all records without a user name.
            return {"username": None, "filename": "", "timestamp": datetime.min}
        stated = name.rsplit("+", 3)[2]
        self._times[name] = {names.TIMESTAMP: stated}
        if changed > record["timestamp"] + COPY_TIME:
            times = {"time": record["timestamp"], "changed": changed}
            self.log.warning(sentence("collect.changed", student=record["username"], **times))
            self._times[name] = {names.TIMESTAMP: f"{changed} UTC", names.STATED_TIME: stated}
            record["timestamp"] = changed
        return record

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


def _check_submission(path, student):
    """Return when a submission last changed, in UTC, or raise if it may not be collected."""
    folder = path.lstat()
    owner = pwd.getpwuid(folder.st_uid).pw_name
    if not stat.S_ISDIR(folder.st_mode) or owner != student:
        raise RefusedError(sentence("collect.owner", owner=owner))
    files = read_files(path.parent, path.name)
    if any(file.is_hard_linked for file in files.values()):
        raise RefusedError(sentence("collect.linked"))
    latest = max(os.lstat(name).st_ctime for name in (path, *map(path.joinpath, files)))
    return datetime.fromtimestamp(latest, UTC).replace(tzinfo=None)
