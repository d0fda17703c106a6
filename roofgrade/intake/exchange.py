"""Collecting from nbgrader's exchange, on a machine where students have accounts.

``c.ExchangeFactory.collect = "roofgrade.intake.exchange.Collect"`` in nbgrader_config.py puts it in
the place of nbgrader's own. That one reads where a link in a submission leads, so that a link to
the solutions is the solutions, and only warns of work in another's name.
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

# How long after its time a submission may still be written to.
COPY_TIME = timedelta(minutes=10)


class Collect(ExchangeCollect):
    """Takes from each account what it handed in itself: files within bounds, through no link."""

    def init_src(self):
        """Find the latest that each student handed in; what cannot be taken is named."""
        self.taken = {}
        super().init_src()
        self.src_records = [each for each in self.src_records if each["username"] is not None]

    def _path_to_record(self, path):
        try:
            record = super()._path_to_record(path)
            self._check_submission(Path(path), record)
        except (
            RefusedError,
            MachineryError,
            OSError,
            KeyError,
            ValueError,
            OverflowError,
        ) as error:
            name = escape_text(os.path.basename(path))
            self.log.error(sentence("collect.left", name=name, why=error))
            # One key for all of them, so that none stands in for somebody's.
            record = {"username": None, "filename": "", "timestamp": datetime.min}
        return record

    def _check_submission(self, path, record):
        """Raise for what may not be taken; warn of what was changed later."""
        found = path.lstat()
        owner = pwd.getpwuid(found.st_uid).pw_name
        if not stat.S_ISDIR(found.st_mode) or owner != record["username"]:
            raise RefusedError(sentence("collect.owner", owner=owner))
        files = read_files(path.parent, path.name)
        if any(file.is_hard_linked for file in files.values()):
            raise RefusedError(sentence("collect.linked"))
        latest = max(os.lstat(each).st_ctime for each in (path, *map(path.joinpath, files)))
        changed = datetime.fromtimestamp(latest, UTC).replace(tzinfo=None)
        if changed > record["timestamp"] + COPY_TIME:
            said = {"student": owner, "time": record["timestamp"], "changed": changed}
            self.log.warning(sentence("collect.changed", **said))

    def do_copy(self, src, dest, log=None):
        """Copy what was handed in; its time is the one that its folder's name says."""
        source, target = Path(src), Path(dest)
        files = {name: file.data for name, file in read_files(source.parent, source.name).items()}
        files["timestamp.txt"] = source.name.rsplit("+", 3)[2].encode()
        for name, data in files.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(data)
