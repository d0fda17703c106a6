"""Install packages into the current Python with uv, or with pip if uv is unavailable.

    .venv/bin/python tools/packages/install.py --no-deps -r requirements.lock -e .

The arguments are those of ``pip install`` that uv also has. requirements.lock in this folder pins
uv, which doesn't stay in the environment.
"""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
UV_LOCK = Path(__file__).with_name("requirements.lock")
# uv ignores pip's settings. For those about package sources: pip's name, uv's variable, and the
# separator that uv expects between values.
SETTINGS = (
    ("index-url", "UV_DEFAULT_INDEX", " "), ("extra-index-url", "UV_INDEX", " "),
    ("find-links", "UV_FIND_LINKS", ","), ("trusted-host", "UV_INSECURE_HOST", " "),
    ("proxy", "ALL_PROXY", " "), ("cert", "SSL_CERT_FILE", " "),
    ("client-cert", "SSL_CLIENT_CERT", " "),
)  # fmt: skip


def main():
    arguments = sys.argv[1:]
    # On a terminal, uv and pip show their progress.
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    start = time.monotonic()
    try:
        install_with_uv(arguments, quiet)
    except (OSError, subprocess.CalledProcessError) as error:
        why = getattr(error, "strerror", None) or "its message is above"
        print(
            f"uv failed ({why}), so pip installs the packages. This takes a minute or two.",
            flush=True,
        )
        code = subprocess.run([*PIP, *quiet, "install", *arguments]).returncode
        if code:
            sys.exit(code)
    print(f"Installed the packages in {time.monotonic() - start:.0f} s.")


def install_with_uv(arguments, quiet):
    """Fetch uv and run it. Raises OSError or CalledProcessError if either fails."""
    # Some servers don't allow programs to run from /tmp, but do from an environment.
    with tempfile.TemporaryDirectory(prefix="uv-", dir=sys.prefix) as folder:
        lock = UV_LOCK.read_text().strip()
        print(f"Fetching {lock}, which installs packages faster than pip.", flush=True)
        # Building uv without a wheel would take longer than installing everything with pip.
        fetch = ["--quiet", "install", "--only-binary=:all:", "--no-compile", "--target", folder]
        subprocess.run([*PIP, *fetch, "-r", UV_LOCK], check=True)
        uv = shutil.which("uv", path=Path(folder, "bin"))
        if not uv:
            raise FileNotFoundError(2, "its package contains no program")
        pip_settings = read_pip_settings()
        options = [*quiet, "--python", sys.executable]
        if pip_settings.get("no-index", ["0"])[0].lower() in ("1", "true", "yes", "on"):
            options.append("--no-index")
        # uv doesn't compile modules. Python compiles them on first import, unless that is off.
        if sys.dont_write_bytecode and "--compile" not in arguments:
            options.append("--compile")
        print("Installing the packages.", flush=True)
        subprocess.run(
            [uv, "pip", "install", *options, *arguments],
            env={**translate_settings(pip_settings), **os.environ}, check=True,
        )  # fmt: skip


def read_pip_settings():
    """Return pip's settings, as lists of values by name."""
    output = subprocess.run([*PIP, "config", "list"], stdout=subprocess.PIPE, text=True, check=True)
    settings = {}
    for section in ("global.", "install.", ":env:."):  # later sections override earlier ones
        for line in output.stdout.splitlines():
            name, _, value = line.partition("=")
            if name.startswith(section):
                settings[name.removeprefix(section)] = ast.literal_eval(value).split()
    return settings


def translate_settings(pip_settings):
    """Return environment variables that make uv use the same package sources as pip."""
    variables = {
        uv_name: separator.join(pip_settings[name])
        for name, uv_name, separator in SETTINGS
        if pip_settings.get(name)
    }
    # By default, uv uses only the first index that has the package.
    return {"UV_INDEX_STRATEGY": "unsafe-best-match", **variables}


if __name__ == "__main__":
    main()
