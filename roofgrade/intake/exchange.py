"""A safe ``nbgrader collect`` for machines where students have accounts.

``c.ExchangeFactory.collect = "roofgrade.intake.exchange.Collect"`` in nbgrader_config.py replaces
nbgrader's own collector, which follows links in a submission, even to the solutions, and only warns
about work submitted under another student's name.
"""

import os
import pwd
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nbgrader.exchange.default import ExchangeCollect

from roofgrade.common.errors import MachineryError, RefusedError
from roofgrade.common.sentences import escape_text, sentence
from roofgrade.intake.bounded_files import read_files

# The collector warns if files change more than this long after the stated time.
COPY_TIME = timedelta(minutes=10)
UNUSABLE_ERRORS = RefusedError, MachineryError, OSError, KeyError, ValueError, OverflowError


class Collect(ExchangeCollect):
    """Collects only the work that each account handed in itself, and follows no links."""

    def init_src(self):
        """Find each student's latest submission, and log those that cannot be collected."""
        super().init_src()
        self.src_records = [rec for rec in self.src_records if rec["username"] is not None]

    def _path_to_record(self, path):
        try:
            record = super()._path_to_record(path)
            self._check_submission(Path(path), record)
        except UNUSABLE_ERRORS as error:
            name = escape_text(os.path.basename(path))
            self.log.error(sentence("collect.left", name=name, why=error))
            # init_src drops all records without a user name.
            record = {"username": None, "filename": "", "timestamp": datetime.min}
        return record

    def _check_submission(self, path, record):
        """Raise if a submission may not be collected, and warn of files that changed later."""
        folder = path.lstat()
        owner = pwd.getpwuid(folder.st_uid).pw_name
        if not stat.S_ISDIR(folder.st_mode) or owner != record["username"]:
            raise RefusedError(sentence("collect.owner", owner=owner))
        files = read_files(path.parent, path.name)
        if any(file.is_hard_linked for file in files.values()):
            raise RefusedError(sentence("collect.linked"))
        latest = max(os.lstat(name).st_ctime for name in (path, *map(path.joinpath, files)))
        changed = datetime.fromtimestamp(latest, UTC).replace(tzinfo=None)
        if changed > record["timestamp"] + COPY_TIME:
            times = {"time": record["timestamp"], "changed": changed}
            self.log.warning(sentence("collect.changed", student=owner, **times))

    def do_copy(self, src, dest, log=None):
        """Copy a submission, and add a file with the time from its folder's name."""
        source, target = Path(src), Path(dest)
        files = {name: file.data for name, file in read_files(source.parent, source.name).items()}
        files["timestamp.txt"] = source.name.rsplit("+", 3)[2].encode()
        for name, data in files.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(data)
