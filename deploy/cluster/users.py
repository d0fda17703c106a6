"""Assign a permanent user id to each account: python deploy/cluster/users.py ROSTER USERS

This script reads the ids in a roster (a CSV file as described in TEACHING.md, with a column id) and
writes USERS, a file of values for the chart. Accounts in this file keep their user ids even if they
are removed from the roster, because their files belong to these user ids.
"""

import argparse
import csv
import re
import sys
from pathlib import Path

import yaml

FIRST = 20001
# Linux account names that KubeSpawner uses unchanged for pods, volumes and home folders.
ID = re.compile(r"(?=.{1,31}$)[a-z](-?[a-z0-9])*")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("roster", type=Path)
    parser.add_argument("users", type=Path, help="the file to write; existing accounts are kept")
    parser.add_argument("--teacher", required=True, help="the teacher's account")
    options = parser.parse_args(argv)
    with options.roster.open(newline="", encoding="utf-8-sig") as file:
        ids = [row["id"].strip() for row in csv.DictReader(file)]
    if wrong := [name for name in (options.teacher, *ids) if not ID.fullmatch(name)]:
        place = "--teacher" if wrong[0] == options.teacher else options.roster
        sys.exit(
            f"{place}: {wrong[0]!r} can't be used as an account name. Use lowercase letters, "
            "digits and single hyphens, start with a letter, don't end with a hyphen, and use at "
            "most 31 characters."
        )
    known = yaml.safe_load(options.users.read_text())["users"] if options.users.is_file() else []
    numbers = {user["id"]: user["number"] for user in known}
    for name in (options.teacher, *ids):
        numbers.setdefault(name, max(numbers.values(), default=FIRST - 1) + 1)
    users = [{"id": name, "number": number} for name, number in numbers.items()]
    values = {"teacher": options.teacher, "users": users}
    options.users.write_text(yaml.safe_dump(values, sort_keys=False))
    print(f"{options.users}: {len(users)} accounts, {len(users) - len(known)} of them new")


if __name__ == "__main__":
    main()
