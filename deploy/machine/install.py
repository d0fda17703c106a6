"""Set up a hub for one class on one server, from this clone; run it again after each change.

    sudo python3 deploy/machine/install.py --instructor prof --students students.csv \\
        --url https://hub.example.org

Options are remembered, so later runs need none. README.md in this folder lists the folders that it
creates, and the next steps.
"""

import argparse
import hashlib
import json
import os
import pwd
import re
import secrets
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT))
from tools.kit import build  # noqa: E402

# Programs that the hub needs, and the Debian and Ubuntu packages that provide them.
PROGRAMS = {"bwrap": "bubblewrap", "setpriv": "util-linux", "git": "git"}
UNIT = Path("/etc/systemd/system/roofline.service")
# Only root can read this folder, because the administrator's settings can contain secrets.
SETTINGS_FOLDER = Path("/etc/roofline")
REMEMBERED = SETTINGS_FOLDER / "install.json"
DEFAULTS = {
    "instructor": None,
    "students": None,
    "url": None,
    "prefix": Path("/opt/roofline"),
    "data": Path("/srv/roofline"),
    "gradebook": "sqlite",
    "address": "127.0.0.1",
    "port": 8000,
    "memory": "2G",
    "cores": 2.0,
}
# What --url is if all servers share one address.
SHARED = "shared"
POSTGRESQL = "postgresql+psycopg:///roofline?host=/var/run/postgresql"
NO_URL = """\
Give the hub a name with --url https://hub.example.org. Each user's server then gets a name below
it, such as ada.hub.example.org. README.md explains which names and certificate this needs.
Without them, all servers share one address, and a page that one student wrote can act as anyone
who opens it. If the teacher does, it can read the solutions and change the gradebook.
If everyone on this hub trusts everyone else, you can use --shared-origin instead."""
# Parts of the clone that are only for the teacher.
TEACHING = ("nbgrader_config.py", "solutions/en", "exercises/en", "course")


def main():
    remembered = read_remembered(sys.argv[1:])
    options = parse_options(remembered)
    if os.geteuid() != 0:
        sys.exit("This script creates accounts and a service. Run it as root, with sudo.")
    if is_open_to_all(ROOT):
        sys.exit(
            f"The clone contains the solutions, and every account on this machine can read it. "
            f"First, make it private: chmod 700 {ROOT}"
        )
    interpreter = Path(sys.executable).resolve()
    if sys.version_info < (3, 11) or not is_open_to_all(interpreter):
        sys.exit(
            f"{interpreter} is older than Python 3.11, or students can't run it. Run this "
            "script with the system's own Python, such as /usr/bin/python3."
        )
    if options.url != SHARED and options.url != remembered.get("url") and options.check_url:
        check_url(options.url)
    os.umask(0o022)
    # Git refuses a clone that belongs to another account, unless it is listed as safe.
    os.environ |= {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": str(ROOT),
    }
    python = options.prefix / "environment/bin/python"
    try:
        print_step("system packages")
        install_packages(options)
        print_step("the environment: the course's packages and JupyterHub")
        make_environment(options.prefix, python)
        refuse_to_leave_marks(remembered, options, python)
        if options.gradebook == "postgresql":
            print_step("the database")
            make_database(options.instructor)
        print_step("the proxy")
        make_proxy(options.prefix, python)
        print_step("the course")
        lay_out_course(options)
        write_settings(options)
        print_step("accounts, exchange and gradebook")
        people = (python, "-I", HERE / "people.py", options.prefix, options.students)
        if subprocess.run(people).returncode:
            sys.exit("Nothing is lost. Fix the problem, then run this script again.")
        remember_options(options)
        print_step("the service")
        start_service(options, moved=remembered.get("url", options.url) != options.url)
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\nNothing is lost. Fix the problem, then run this script again.")


def read_remembered(arguments):
    """Return the options of the last run, as far as this account can read them."""
    if os.geteuid() != 0:
        return {}
    if REMEMBERED.is_file():
        return convert_paths(json.loads(REMEMBERED.read_text()))
    # Earlier versions kept some options only here.
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--prefix", type=Path, default=DEFAULTS["prefix"])
    prefix = parser.parse_known_args(arguments)[0].prefix.resolve()
    if not (prefix / "settings.json").is_file():
        return {}
    settings = json.loads((prefix / "settings.json").read_text())
    found = {name: settings[name] for name in DEFAULTS if name in settings}
    return convert_paths(found | {"prefix": prefix, "data": Path(settings["exchange"]).parent})


def convert_paths(options):
    """Return the options with paths for the names of folders and files."""
    return options | {
        name: Path(options[name])
        for name in ("prefix", "data", "students")
        if options.get(name) is not None
    }


class HelpFormatter(argparse.HelpFormatter):
    """Adds the default of each option that has one."""

    def _get_help_string(self, action):
        has_default = action.nargs != 0 and action.default is not None
        return f"{action.help} (default: %(default)s)" if has_default else action.help


def parse_options(remembered):
    parser = argparse.ArgumentParser(
        description=__doc__.partition(";")[0],
        epilog="Options are remembered: the defaults shown here are those of the last run, if any.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--instructor", help="the teacher's account")
    parser.add_argument(
        "--students", type=Path, help="the roster, a CSV file as described in TEACHING.md"
    )
    parser.add_argument(
        "--url", help="the hub's address for browsers, like https://hub.example.org"
    )
    parser.add_argument(
        "--shared-origin",
        dest="url",
        action="store_const",
        const=SHARED,
        help="use one address for all servers; README.md describes the danger",
    )
    parser.add_argument(
        "--skip-url-check",
        dest="check_url",
        action="store_false",
        help="don't check names and certificate, if this server can't reach its own address",
    )
    parser.add_argument("--prefix", type=Path, help="folder for the software")
    parser.add_argument("--data", type=Path, help="folder for data")
    parser.add_argument(
        "--gradebook", choices=("sqlite", "postgresql"), help="where the points are stored"
    )
    parser.add_argument("--address", help="the address that the hub listens on")
    parser.add_argument("--port", type=int, help="the port that the hub listens on")
    parser.add_argument("--memory", help="memory limit for each student's server")
    parser.add_argument("--cores", type=float, help="core limit for each student's server")
    parser.set_defaults(**DEFAULTS | remembered)
    options = parser.parse_args()
    for name in ("instructor", "students"):
        if getattr(options, name) is None:
            parser.error(f"the first run needs --{name}")
    if not re.fullmatch("[a-z][a-z0-9_-]{0,30}", options.instructor):
        parser.error(f"{options.instructor!r} can't be used as an account name")
    if not re.fullmatch(r"\d+(\.\d+)?[KMGT]", options.memory):
        parser.error(f"--memory must be a number with K, M, G or T, like 2G, not {options.memory}")
    if not options.students.is_file():
        parser.error(f"{options.students} doesn't exist or is not a file")
    for name in ("prefix", "data", "students"):
        setattr(options, name, getattr(options, name).resolve())
    if options.url is None:
        sys.exit(NO_URL)
    if options.url != SHARED:
        options.url = options.url.rstrip("/")
        if not is_hub_url(options.url):
            parser.error(
                f"{options.url} is not an address like https://hub.example.org. To try the hub on "
                "this machine only, use http://hub.localhost:8000"
            )
    return options


def is_hub_url(url):
    """Return whether a hub, and a name for each user below it, can be at this address."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    # Browsers look up names below localhost without DNS, and accept them without a certificate.
    safe = parts.scheme == "https" or (parts.scheme == "http" and host.endswith(".localhost"))
    named = re.fullmatch(r"([a-z0-9-]+\.)+[a-z][a-z0-9-]*", host)
    return bool(safe and named) and url == f"{parts.scheme}://{parts.netloc}" and "@" not in url


def check_url(url):
    """Exit unless the hub's name and every name below it have an address and a certificate."""
    parts = urlsplit(url)
    if parts.scheme == "http":
        return
    for host in (parts.hostname, f"check-{secrets.token_hex(4)}.{parts.hostname}"):
        try:
            with (
                socket.create_connection((host, parts.port or 443), timeout=10) as connection,
                ssl.create_default_context().wrap_socket(connection, server_hostname=host),
            ):
                continue
        except socket.gaierror:
            problem = (
                f"DNS has no address for {host}. Both {parts.hostname} and *.{parts.hostname} must "
                "point to this server."
            )
        except ssl.SSLCertVerificationError as error:
            problem = (
                f"The certificate at {host} isn't valid ({error.verify_message}). It must be for "
                f"both {parts.hostname} and *.{parts.hostname}."
            )
        except OSError as error:
            problem = f"No web server answers at {host}: {error}. Set it up first, see README.md."
        sys.exit(
            f"{problem}\nIf only this server can't reach its own address, add --skip-url-check."
        )


def refuse_to_leave_marks(remembered, options, python):
    """Exit if the teacher would get another gradebook or exchange, and marks would stay behind."""
    names = ("instructor", "data", "gradebook")
    changes = [
        name for name in names if name in remembered and remembered[name] != getattr(options, name)
    ]
    if not changes:
        return
    changed = ", ".join(f"--{name} {getattr(options, name)}" for name in changes)
    kept = ", ".join(f"--{name} {remembered[name]}" for name in changes)
    if "data" in changes and (remembered["data"] / "hub/first-passwords.csv").exists():
        sys.exit(
            f"Passwords and submitted work are in {remembered['data']}, and {changed} would leave "
            f"them behind. Nothing was changed. Leave the option out to keep {kept}."
        )
    if changes == ["data"]:
        return
    try:
        sets, submissions = count_marks(remembered, python)
    except subprocess.CalledProcessError as error:
        sys.exit(
            f"The present gradebook can't be read: {error.stderr.strip()}\nIt may contain marks "
            f"that {changed} would leave behind. Nothing was changed. Leave the option out to keep "
            f"{kept}."
        )
    if sets or submissions:
        sys.exit(
            f"The present gradebook is in use (sets: {sets}, submissions: {submissions}), and "
            f"{changed} would leave all its marks behind. Nothing was changed. Leave the option "
            f"out to keep {kept}. Only a gradebook without sets can be changed."
        )


def count_marks(remembered, python):
    """Return the number of sets and of submissions in the gradebook that the teacher now has."""
    try:
        teacher = pwd.getpwnam(remembered["instructor"])
    except KeyError:
        return 0, 0
    folder = Path(teacher.pw_dir) / "roofline/teaching"
    if not (folder / "nbgrader_config.py").exists():
        return 0, 0
    with (HERE / "hub/count_marks.py").open() as script:
        output = subprocess.run(
            ["setpriv", "--reuid", teacher.pw_name, "--regid", str(teacher.pw_gid),
             "--init-groups", "--", python, "-I", "-", folder],
            stdin=script, capture_output=True, text=True, check=True, cwd="/",
            env={"HOME": teacher.pw_dir, "USER": teacher.pw_name,
                 "PATH": f"{python.parent}:/usr/bin:/bin"},
        ).stdout  # fmt: skip
    counts = json.loads(output.splitlines()[-1])
    return counts["sets"], counts["submissions"]


def make_database(instructor):
    """Create a PostgreSQL database that the teacher owns and can open without a password."""

    def run_as_postgres(*command):
        command = ("runuser", "-u", "postgres", "--", *command)
        run = subprocess.run(command, capture_output=True, text=True, cwd="/")
        if run.returncode:
            sys.exit(
                f"PostgreSQL doesn't work:\n{run.stderr.strip()}\nIf it isn't running, start it "
                "with systemctl start postgresql. Then run this script again. Nothing is lost."
            )
        return run.stdout.strip()

    def query(sql):
        return run_as_postgres("psql", "-tAc", sql)

    if not query(f"SELECT 1 FROM pg_roles WHERE rolname = '{instructor}'"):
        run_as_postgres("createuser", instructor)
    if not query("SELECT 1 FROM pg_database WHERE datname = 'roofline'"):
        run_as_postgres("createdb", "--owner", instructor, "roofline")


def is_open_to_all(path):
    """Return whether accounts other than root can read a file or list a folder."""
    return path.stat().st_mode & 0o005 == 0o005 and all(
        above.stat().st_mode & 0o001 for above in path.parents
    )


def print_step(step):
    print(f"- {step}", flush=True)


def run(*command, **options):
    """Run a command. Raises CalledProcessError if it fails."""
    subprocess.run([str(part) for part in command], check=True, **options)


def install_packages(options):
    """Install missing system packages with apt."""
    missing = [package for program, package in PROGRAMS.items() if not shutil.which(program)]
    if subprocess.run([sys.executable, "-c", "import ensurepip"], capture_output=True).returncode:
        missing.append("python3-venv")
    libraries = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    if "libseccomp.so.2" not in libraries:
        missing.append("libseccomp2")
    if options.gradebook == "postgresql" and not shutil.which("psql"):
        missing.append("postgresql")
    if not missing:
        return
    if not shutil.which("apt-get"):
        sys.exit(f"Install these with your system's package manager: {', '.join(missing)}")
    run("apt-get", "update", "-qq")
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    run("apt-get", "install", "-y", "-qq", *missing, env=quiet)


def stamp_if_changed(stamp, *files):
    """Return whether a step must run again, and the new content of its stamp file."""
    parts = [f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes() for file in files]
    state = hashlib.sha256(b"\0".join(parts)).hexdigest()
    return not (stamp.is_file() and stamp.read_text() == state), state


def make_environment(prefix, python):
    """Build the virtual environment, or update it in place without stopping running servers."""
    names = (*build.WHEEL_SOURCES, "roofgrade")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    sources = [ROOT / name for name in listed.stdout.split("\0") if name]
    stamp = prefix / "environment/ready"
    anew, state = stamp_if_changed(stamp, HERE / "requirements.lock", *sources)
    if anew:
        if not python.exists():
            run(sys.executable, "-m", "venv", prefix / "environment")
        os.environ["PIP_ROOT_USER_ACTION"] = "ignore"
        # uv links files to its cache. Other accounts may be unable to read root's own cache.
        with tempfile.TemporaryDirectory(dir=prefix, prefix="cache-") as cache:
            # Accounts can't store bytecode here, so without --compile, each start would recompile.
            options = ("--compile", "--no-deps", "-r", HERE / "requirements.lock")
            installer = ROOT / "tools/packages/install.py"
            run(python, installer, *options, env=os.environ | {"UV_CACHE_DIR": cache})
        pip = (python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install")
        with tempfile.TemporaryDirectory() as temporary:
            work = Path(temporary)
            for name in names:
                build.copy_tracked_files(name, work / name)
            folders = [work, *(work / part for part in ("rooflab", "roofcheck", "roofgrade"))]
            run(*pip, "--no-deps", "--force-reinstall", "--no-build-isolation", *folders)
        stamp.write_text(state)
    # Students get the kit's settings, and additional ones for a shared machine.
    for folder in (ROOT / "tools/kit/jupyter", HERE / "jupyter"):
        if folder.is_dir():
            shutil.copytree(folder, prefix / "environment/etc/jupyter", dirs_exist_ok=True)
    shutil.copytree(HERE / "instructor", prefix / "instructor", dirs_exist_ok=True)
    shutil.copytree(HERE / "hub", prefix / "hub", dirs_exist_ok=True)


def make_proxy(prefix, python):
    """Install the proxy, which uses the environment's Node.js."""
    folder = prefix / "proxy"
    folder.mkdir(exist_ok=True)
    files = [HERE / "proxy" / name for name in ("package.json", "package-lock.json")]
    anew, state = stamp_if_changed(folder / "ready", *files)
    if anew:
        for file in files:
            shutil.copyfile(file, folder / file.name)
        path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        npm = (python.with_name("npm"), "ci", "--omit=dev", "--no-audit", "--no-fund")
        run(*npm, "--loglevel=error", cwd=folder, env=os.environ | {"PATH": path})
        (folder / "ready").write_text(state)


def lay_out_course(options):
    """Prepare the files that each server copies into its owner's folder when it starts."""
    new = options.prefix / "new"
    shutil.rmtree(new, ignore_errors=True)
    for path, target in build.KIT_PATHS.items():
        if target.startswith("course/"):
            build.copy_tracked_files(path, new / "course" / target)
    # This folder contains the solutions. people.py gives the teacher's account access to it.
    (new / "teaching").mkdir(mode=0o700)
    for path in TEACHING:
        build.copy_tracked_files(path, new / "teaching" / path)
    with (new / "teaching/nbgrader_config.py").open("a") as settings:
        settings.write(machine_settings(options))
    for name in ("course", "teaching"):
        if (options.prefix / name).exists():
            (options.prefix / name).rename(new / f"old-{name}")
        (new / name).rename(options.prefix / name)
    shutil.rmtree(new)


def machine_settings(options):
    """Return this machine's settings for nbgrader, as lines of nbgrader_config.py."""
    lines = [
        "",
        "# This machine.",
        f"c.Exchange.root = {str(options.data / 'exchange')!r}",
    ]
    if options.gradebook == "postgresql":
        lines.append(f"c.CourseDirectory.db_url = {POSTGRESQL!r}")
    return "\n".join(lines) + "\n"


def remember_options(options):
    """Save the options for later runs, and create the file for the administrator's settings."""
    SETTINGS_FOLDER.mkdir(exist_ok=True)
    SETTINGS_FOLDER.chmod(0o700)
    own = SETTINGS_FOLDER / "hub.py"
    if not own.exists():
        own.write_text("# Settings for JupyterHub, which are read last. Only root can read them.\n")
    own.chmod(0o600)
    remembered = {name: getattr(options, name) for name in DEFAULTS}
    new = REMEMBERED.with_suffix(".new")
    new.write_text(json.dumps(remembered, indent=1, default=str) + "\n")
    new.replace(REMEMBERED)


def write_settings(options):
    """Write settings for the hub, nbgrader and people.py, which everyone can read."""
    settings = {
        "instructor": options.instructor,
        "exchange": str(options.data / "exchange"),
        "state": str(options.data / "hub"),
        "url": None if options.url == SHARED else options.url,
        "gradebook": options.gradebook,
        "address": options.address,
        "port": options.port,
        "memory": options.memory,
        "cores": options.cores,
        "systemd": Path("/run/systemd/system").is_dir(),
    }
    (options.prefix / "settings.json").write_text(json.dumps(settings, indent=1) + "\n")
    # Terminals of the hub are login shells, which reset PATH.
    Path("/etc/profile.d/roofline.sh").write_text(
        f'[ -z "$JUPYTERHUB_USER" ] || PATH="{options.prefix}/environment/bin:$PATH"\n'
    )


def start_service(options, moved):
    """Start the hub now and at each boot. If it is already running, restart it.

    If the hub's address has ``moved``, stop all servers, because they know only the old one.
    """
    hub = options.prefix / "hub"
    command = f"{options.prefix}/environment/bin/jupyterhub --config {hub}/jupyterhub_config.py"
    UNIT.parent.mkdir(parents=True, exist_ok=True)
    UNIT.write_text((HERE / "roofline.service").read_text().format(
        command=command, state=options.data / "hub"
    ))  # fmt: skip
    if Path("/run/systemd/system").is_dir():
        run("systemctl", "daemon-reload")
        run("systemctl", "enable", "--quiet", UNIT.name)
        if moved:
            run("systemctl", "stop", "jupyter-*-singleuser.service")
        run("systemctl", "restart", UNIT.name)
        address = f"http://{options.address}:{options.port}"
        public = "" if options.url == SHARED else f", for browsers at {options.url}"
        print(f"The hub starts at {address}{public}. If it doesn't: journalctl -u {UNIT.stem}")
    else:
        print(f"systemd is not running. Start the hub with:\n  cd {options.data}/hub && {command}")
    print(f"First passwords: {options.data}/hub/first-passwords.csv (only root can read it)")


if __name__ == "__main__":
    main()
