"""Forget the passwords that users have chosen, so that their first passwords are valid again.

    sudo /opt/roofline/environment/bin/python /opt/roofline/hub/forget_password.py ada

The hub can be running meanwhile.
"""

import contextlib
import json
import sqlite3
import sys
from pathlib import Path

SETTINGS = Path(__file__).resolve().parents[1] / "settings.json"


def forget_passwords(database, names):
    """Delete these users' passwords from the hub's database, and return how many there were."""
    with contextlib.closing(sqlite3.connect(database, timeout=30)) as connection, connection:
        delete = "DELETE FROM users_info WHERE username = ?"
        return sum(connection.execute(delete, [name]).rowcount for name in names)


if __name__ == "__main__":
    hub_database = Path(json.loads(SETTINGS.read_text())["state"]) / "jupyterhub.sqlite"
    print(f"forgotten: {forget_passwords(hub_database, sys.argv[1:])}")
