"""Give each account of a roster a number that it keeps: python deploy/cluster/users.py ROSTER USERS

Reads the ids of a roster (a CSV file as TEACHING.md says, with a column id), and writes USERS, a
file of values for the chart. An account that stands in it keeps its number, also when it leaves the
roster: the number owns its files.
"""

import argparse
import csv
import re
import sys
from pathlib import Path

import yaml

FIRST = 20001
# What Kubernetes takes for a label, and Linux for a name.
ID = re.compile(r"[a-z][a-z0-9-]{0,30}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("roster", type=Path)
    parser.add_argument("users", type=Path, help="the file to write; what stands in it stays")
    parser.add_argument("--teacher", required=True, help="the account of who teaches")
    options = parser.parse_args(argv)
    with options.roster.open(newline="", encoding="utf-8-sig") as file:
        ids = [row["id"].strip() for row in csv.DictReader(file)]
    if wrong := [each for each in ids if not ID.fullmatch(each)]:
        sys.exit(
            f"{options.roster}: {wrong[0]!r} cannot be an account on a cluster: use small letters, "
            "digits and -, beginning with a letter, at most 31 signs"
        )
    known = yaml.safe_load(options.users.read_text())["users"] if options.users.is_file() else []
    numbered = {each["id"]: each["number"] for each in known}
    for each in (options.teacher, *ids):
        numbered.setdefault(each, max(numbered.values(), default=FIRST - 1) + 1)
    users = [{"id": each, "number": number} for each, number in numbered.items()]
    options.users.write_text(yaml.safe_dump({"users": users}, sort_keys=False))
    print(f"{options.users}: {len(users)} accounts, {len(users) - len(known)} of them new")


if __name__ == "__main__":
    main()
