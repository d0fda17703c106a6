"""Create accounts, first passwords, the exchange and the gradebook for a roster.

install.py runs this script as root, in the environment it has built. Existing data is kept.
"""

import csv
import grp
import json
import os
import pwd
import re
import secrets
import subprocess
import sys
from pathlib import Path

from roofgrade.intake import roster
from roofgrade.intake.exchange import make_exchange

COURSE, SERVICE = "roofline", "roofline"
STUDENTS, TEACHERS = "roofline-students", "roofline-teachers"
NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")
# Characters that are not easily confused with others.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


def main():
    prefix, file = map(Path, sys.argv[1:])
    settings = json.loads((prefix / "settings.json").read_text())
    try:
        entries = roster.read_roster(file)
    except ValueError as error:
        sys.exit(str(error))
    names = [entry.id.lower() for entry in entries]
    instructor = settings["instructor"]
    refuse_bad_ids(names, instructor)
    # The administrator may have to add accounts to this group before the rest can be done.
    run("groupadd", "--force", STUDENTS)
    refuse_strangers(names)

    if not account_exists(SERVICE):
        run("useradd", "--system", "--home-dir", prefix, "--shell", "/usr/sbin/nologin", SERVICE)
    new = [name for name in names if not account_exists(name)]
    for name in new:
        add_account(name, "--groups", STUDENTS)
    if not account_exists(instructor):
        add_account(instructor)
    write_first_passwords(Path(settings["state"]), instructor, entries)
    try:
        make_exchange(Path(settings["exchange"]), COURSE, instructor)
    except ValueError as error:
        sys.exit(str(error))
    # Only the teacher can read the solutions. Root owns them, so the teacher edits a copy. They
    # have a group of their own, because the teacher's main group may contain students.
    run("groupadd", "--force", TEACHERS)
    run("gpasswd", "--members", instructor, TEACHERS, stdout=subprocess.DEVNULL)
    os.chown(prefix / "teaching", 0, grp.getgrnam(TEACHERS).gr_gid)
    (prefix / "teaching").chmod(0o750)
    warn_about_open_homes([instructor, *names])
    fill_gradebook(prefix, instructor, file, settings["gradebook"])
    print(f"  {len(names)} students, {len(new)} of them new")


def refuse_bad_ids(names, instructor):
    """Exit before anything is changed if an id can't be used for an account here."""
    for name in [*names, instructor]:
        if not NAME.fullmatch(name):
            sys.exit(
                f"{name!r} can't be used as an account name. On a hub, each id is an account name: "
                'a letter a-z, then letters, digits, "-" and "_", at most 31 characters. Change '
                'the id in the roster, for example to "s1234567".'
            )
        if account_exists(name) and pwd.getpwnam(name).pw_uid < 1000:
            sys.exit(f"{name} is a system account. Use another name.")
    if instructor in names:
        sys.exit(f"{instructor} is the teacher's account. Remove this id from the roster.")


def refuse_strangers(names):
    """Exit if accounts with these ids exist that are not in the class."""
    members = grp.getgrnam(STUDENTS).gr_mem
    strangers = [name for name in names if account_exists(name) and name not in members]
    if strangers:
        sys.exit(
            f"These accounts already exist, but this script did not create them: "
            f"{', '.join(strangers)}. If they are these students', add them to the class:\n"
            f"  for name in {' '.join(strangers)}; do usermod -aG {STUDENTS} $name; done"
        )


def account_exists(name):
    try:
        return bool(pwd.getpwnam(name))
    except KeyError:
        return False


def run(*command, **options):
    """Run a command. Raises CalledProcessError if it fails."""
    subprocess.run([str(part) for part in command], check=True, **options)


def add_account(name, *options):
    """Create an account with a private home folder and no system password."""
    run(
        "useradd", "--create-home", "--key", "HOME_MODE=0700", "--user-group", *options,
        "--shell", "/bin/bash", "--password", "!", name,
    )  # fmt: skip


def write_first_passwords(state, instructor, entries):
    """Write a first password for each new person to a file that only root can read."""
    state.mkdir(parents=True, exist_ok=True)
    state.chmod(0o700)
    file = state / "first-passwords.csv"
    rows = []
    if file.exists():
        with file.open(newline="", encoding="utf-8") as opened:
            rows = list(csv.DictReader(opened))
    known = {row["id"] for row in rows}
    people = [(instructor, "", "")]
    people += [(entry.id.lower(), entry.name, entry.email) for entry in entries]
    for name, full, email in people:
        if name not in known:
            password = "-".join("".join(secrets.choice(LETTERS) for _ in "1234") for _ in "123")
            rows.append({"id": name, "name": full, "email": email, "password": password})
    new = file.with_suffix(".new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", newline="",
              encoding="utf-8") as opened:  # fmt: skip
        table = csv.DictWriter(opened, ["id", "name", "email", "password"])
        table.writeheader()
        table.writerows(rows)
    new.replace(file)


def warn_about_open_homes(names):
    """Name the home folders that other accounts can enter, which this script didn't create."""
    homes = [Path(pwd.getpwnam(name).pw_dir) for name in names]
    exposed = [str(home) for home in homes if home.is_dir() and home.stat().st_mode & 0o077]
    if exposed:
        print("  Other accounts can enter these folders. Close them with chmod 700:", *exposed)


def fill_gradebook(prefix, instructor, file, kind):
    """Fill the teacher's folder and import the roster, with that account's permissions."""
    home = pwd.getpwnam(instructor).pw_dir
    environment = {
        "HOME": home, "USER": instructor, "LOGNAME": instructor, "LANG": "C.UTF-8",
        "PATH": f"{prefix}/environment/bin:/usr/bin:/bin",
        "JUPYTER_CONFIG_PATH": str(prefix / "instructor"),
    }  # fmt: skip
    become = (
        "setpriv", "--reuid", instructor, "--regid", str(pwd.getpwnam(instructor).pw_gid),
        "--init-groups", "--",
    )  # fmt: skip
    python = prefix / "environment/bin/python"
    options = {"cwd": home, "env": environment}
    run(*become, python, "-I", prefix / "hub/start_server.py", "--only-fill", **options)
    # That account may be unable to read the roster, so it gets the file already opened.
    copy = Path(home) / "roofline/teaching/students.csv"
    with file.open("rb") as opened:
        run(*become, "dd", f"of={copy}", "status=none", stdin=opened, **options)
    count = (*become, python, "-I", prefix / "hub/count_marks.py", copy.parent)
    output = subprocess.run(map(str, count), capture_output=True, text=True, **options)
    if output.returncode:
        sys.exit(f"The gradebook doesn't work: {output.stderr.strip()}")
    actual = json.loads(output.stdout.splitlines()[-1])["gradebook"]
    if kind == "postgresql" and actual != kind:
        sys.exit(
            f"{instructor} has changed {copy.parent}/nbgrader_config.py, so it doesn't name this "
            f"hub's PostgreSQL gradebook. Copy the last lines of {prefix}/teaching/"
            "nbgrader_config.py to that file, then run this script again."
        )
    course = ("--course", copy.parent, "roster", copy)
    run(*become, python, "-m", "roofgrade", *course, stdout=subprocess.DEVNULL, **options)


if __name__ == "__main__":
    main()
