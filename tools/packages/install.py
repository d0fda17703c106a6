"""Install packages with uv, or with pip if uv can't be had, into the Python that runs this.

    .venv/bin/python tools/packages/install.py --no-deps -r requirements.lock -e .

It takes the options of ``pip install`` that uv knows too. requirements.lock beside this file pins
uv, which doesn't stay in the environment.
"""

import ast
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
UV_LOCK = Path(__file__).with_name("requirements.lock")
# uv doesn't read pip's settings. These say where packages come from: pip's name, uv's name, and
# what uv wants between several values.
SETTINGS = (
    ("index-url", "UV_DEFAULT_INDEX", " "),
    ("extra-index-url", "UV_INDEX", " "),
    ("find-links", "UV_FIND_LINKS", ","),
    ("trusted-host", "UV_INSECURE_HOST", " "),
    ("proxy", "ALL_PROXY", " "),
    ("cert", "SSL_CERT_FILE", " "),
    ("client-cert", "SSL_CLIENT_CERT", " "),
)


def main():
    arguments = sys.argv[1:]
    # On a terminal uv and pip show how far they are.
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    begin = time.monotonic()
    try:
        install_with_uv(arguments, quiet)
    except (OSError, subprocess.CalledProcessError) as error:
        why = getattr(error, "strerror", None) or "its message is above"
        print_sentence(
            f"uv failed ({why}), so pip installs the packages. This takes a minute or two."
        )
        code = subprocess.run([*PIP, *quiet, "install", *arguments]).returncode
        if code:
            sys.exit(code)
    print_sentence(f"Installed the packages in {time.monotonic() - begin:.0f} s.")


def print_sentence(sentence):
    print(sentence, flush=True)


def install_with_uv(arguments, quiet):
    """Fetch uv and run it; OSError or CalledProcessError if either fails."""
    # Some servers forbid programs in /tmp, but none in an environment.
    with tempfile.TemporaryDirectory(prefix="uv-", dir=sys.prefix) as folder:
        print_sentence(
            f"Fetching {UV_LOCK.read_text().strip()}, which installs packages faster than pip."
        )
        # Where there is no wheel of uv, building it would take longer than pip takes for all.
        fetch = ["--quiet", "install", "--only-binary=:all:", "--no-compile", "--target", folder]
        subprocess.run([*PIP, *fetch, "-r", UV_LOCK], check=True)
        uv = shutil.which("uv", path=Path(folder, "bin"))
        if not uv:
            raise FileNotFoundError(2, "its package holds no program")
        pip_settings = read_pip_settings()
        options = [*quiet, "--python", sys.executable]
        if pip_settings.get("no-index", ["0"])[0].lower() in ("1", "true", "yes", "on"):
            options.append("--no-index")
        # pip compiles all modules, which takes longer than the rest. Without it Python compiles a
        # module when it first imports it, unless that is switched off.
        if sys.dont_write_bytecode and "--compile" not in arguments:
            options.append("--compile")
        print_sentence(f"Installing the packages, up to {count_packages(arguments)} of them.")
        subprocess.run(
            [uv, "pip", "install", *options, *arguments],
            env={**translate_settings(pip_settings), **choose_link_mode(uv), **os.environ},
            check=True,
        )


def count_packages(arguments):
    """How many packages the arguments name, in files that follow -r and by themselves."""
    files = [value for option, value in itertools.pairwise(arguments) if option == "-r"]
    single = [each for each in arguments if not each.startswith("-") and each not in files]
    return len(single) + sum(len(Path(file).read_text().splitlines()) for file in files)


def read_pip_settings():
    """The settings of pip, as lists of values by pip's names."""
    output = subprocess.run([*PIP, "config", "list"], stdout=subprocess.PIPE, text=True, check=True)
    settings = {}
    for section in ("global.", "install.", ":env:."):  # a later one overrides
        for line in output.stdout.splitlines():
            name, _, value = line.partition("=")
            if name.startswith(section):
                settings[name.removeprefix(section)] = ast.literal_eval(value).split()
    return settings


def translate_settings(pip_settings):
    """Environment variables that let uv take packages from where pip would."""
    variables = {
        uv_name: separator.join(pip_settings[name])
        for name, uv_name, separator in SETTINGS
        if pip_settings.get(name)
    }
    # By default uv ignores all places but the first that has a package of that name.
    return {"UV_INDEX_STRATEGY": "unsafe-best-match", **variables}


def choose_link_mode(uv):
    """uv links files to its cache, and warns if it can't because that is on another disk."""
    output = subprocess.run([uv, "cache", "dir"], stdout=subprocess.PIPE, text=True, check=True)
    cache = Path(output.stdout.strip())
    while not cache.exists():
        cache = cache.parent
    on_one_disk = cache.stat().st_dev == os.stat(sys.prefix).st_dev
    return {} if on_one_disk else {"UV_LINK_MODE": "copy"}


if __name__ == "__main__":
    main()
