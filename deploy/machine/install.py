"""Set up a hub for one class on one server, from this clone; run it again after each change.

    sudo python3 deploy/machine/install.py --instructor prof --students students.csv

README.md in this folder lists the folders that it creates, and the next steps.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT))
from tools.kit import build  # noqa: E402

# Programs that the hub needs, and the Debian and Ubuntu packages that provide them.
PROGRAMS = {"bwrap": "bubblewrap", "setpriv": "util-linux", "git": "git"}
UNIT = Path("/etc/systemd/system/roofline.service")
# Parts of the clone that are only for the teacher.
TEACHING = ("nbgrader_config.py", "solutions/en", "exercises/en", "course")


def main():
    options = parse_options()
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
        print_step("the proxy")
        make_proxy(options.prefix, python)
        print_step("the course")
        lay_out_course(options)
        write_settings(options)
        print_step("accounts, exchange and gradebook")
        run(python, "-I", HERE / "people.py", options.prefix, options.students)
        print_step("the service")
        start_service(options)
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\nNothing is lost. Fix the problem, then run this script again.")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.partition(";")[0])
    parser.add_argument("--instructor", required=True, help="the teacher's account")
    parser.add_argument(
        "--students",
        type=Path,
        required=True,
        help="the roster, a CSV file as described in TEACHING.md",
    )
    parser.add_argument(
        "--prefix", type=Path, default=Path("/opt/roofline"), help="folder for the software"
    )
    parser.add_argument("--data", type=Path, default=Path("/srv/roofline"), help="folder for data")
    parser.add_argument("--gradebook", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--address", default="127.0.0.1", help="the address the hub listens on")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--memory", default="2G", help="memory limit for each student's server")
    parser.add_argument("--cores", type=float, default=2.0, help="core limit for each server")
    options = parser.parse_args()
    if not options.students.is_file():
        parser.error(f"{options.students} doesn't exist or is not a file")
    for name in ("prefix", "data", "students"):
        setattr(options, name, getattr(options, name).resolve())
    return options


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
        npm = (python.with_name("npm"), "ci", "--omit=dev", "--no-audit", "--no-fund", "--silent")
        run(*npm, cwd=folder, env=os.environ | {"PATH": path})
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
        'c.ExchangeFactory.collect = "roofgrade.intake.exchange.Collect"',
    ]
    if options.gradebook == "postgresql":
        url = "postgresql+psycopg:///roofline?host=/var/run/postgresql"
        lines.append(f"c.CourseDirectory.db_url = {url!r}")
    return "\n".join(lines) + "\n"


def write_settings(options):
    """Write this machine's settings for the hub, nbgrader and people.py."""
    systemd = Path("/run/systemd/system").is_dir()
    settings = {
        "instructor": options.instructor,
        "exchange": str(options.data / "exchange"),
        "state": str(options.data / "hub"),
        "gradebook": options.gradebook,
        "address": options.address,
        "port": options.port,
        "memory": options.memory,
        "cores": options.cores,
        "systemd": systemd,
    }
    (options.prefix / "settings.json").write_text(json.dumps(settings, indent=1) + "\n")
    # Terminals of the hub are login shells, which reset PATH.
    Path("/etc/profile.d/roofline.sh").write_text(
        f'[ -z "$JUPYTERHUB_USER" ] || PATH="{options.prefix}/environment/bin:$PATH"\n'
    )


def start_service(options):
    """Start the hub now and at each boot. If it is already running, restart it."""
    hub = options.prefix / "hub"
    command = f"{options.prefix}/environment/bin/jupyterhub --config {hub}/jupyterhub_config.py"
    UNIT.parent.mkdir(parents=True, exist_ok=True)
    UNIT.write_text((HERE / "roofline.service").read_text().format(
        command=command, state=options.data / "hub"
    ))  # fmt: skip
    if Path("/run/systemd/system").is_dir():
        run("systemctl", "daemon-reload")
        run("systemctl", "enable", "--quiet", UNIT.name)
        run("systemctl", "restart", UNIT.name)
        print(f"The hub is running at http://{options.address}:{options.port}")
    else:
        print(f"systemd is not running. Start the hub with:\n  cd {options.data}/hub && {command}")
    print(f"First passwords: {options.data}/hub/first-passwords.csv (only root can read it)")


if __name__ == "__main__":
    main()
