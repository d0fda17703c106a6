"""Set up the course once, then open it in JupyterLab: python start.py

Works on Linux, macOS and Windows. Needs Python 3.11 or later, and a network the first time.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
OLDEST_PYTHON = (3, 11)
FIRST_LECTURE = "/lab/tree/course/en/01-where-does-the-time-go.ipynb"
# JupyterLab's settings for the course: don't offer news, render Markdown files, encrypt connections
# to kernels, and hide the set-up files.
SETTINGS = HERE / ".jupyter"


def main():
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(
            f"This is Python {sys.version.split()[0]}, but the course needs 3.11 or later. "
            "Install a newer Python (python.org has installers) and run this script with it."
        )
    options = make_parser(__doc__).parse_args()
    use_jupyter_settings(SETTINGS)
    open_lab(set_up_environment(HERE), HERE, options)


def make_parser(description):
    """Make a parser with the options for the port and the browser."""
    parser = argparse.ArgumentParser(description=description.partition(":")[0])
    parser.add_argument("--port", type=int, default=8888)
    parser.add_argument("--browser", default="default", help='a browser\'s name, or "none"')
    return parser


def set_up_environment(folder):
    """Return the Python of the folder's environment, which is rebuilt if its packages change."""
    wheels, lock = sorted(folder.glob("roof*.whl")), folder / "requirements.lock"
    installer = folder / ".packages/install.py"
    if len(wheels) < 3 or not lock.is_file() or not installer.is_file():
        sys.exit(
            f"{folder} is missing a wheel, requirements.lock or the .packages folder. "
            "Unpack the whole archive again."
        )
    environment = folder / ".venv"
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = environment / "ready"
    state = hashlib.sha256(b"".join(path.read_bytes() for path in (lock, *wheels))).hexdigest()
    if ready.is_file() and ready.read_text() == state:
        return python
    print("Setting up the course, only this once. This takes about half a minute.", flush=True)
    if environment.exists():
        shutil.rmtree(environment)
    try:
        venv.create(environment, with_pip=True)
        subprocess.run([python, installer, "--no-deps", "-r", lock, *wheels], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(
            f"The set-up failed: {error}\nCheck your network. On Debian and Ubuntu, also install "
            "python3-venv. Then try again."
        )
    trust_notebooks(python, folder)
    ready.write_text(state)
    return python


def trust_notebooks(python, folder):
    """Mark the course's notebooks as trusted, so their saved outputs show."""
    notebooks = [*folder.glob("course/*/*.ipynb"), *folder.glob("exercises/*/*/*.ipynb")]
    subprocess.run(
        [python, "-m", "jupyter", "trust", "--log-level=WARN", *notebooks],
        stdout=subprocess.DEVNULL,
    )


def use_jupyter_settings(*folders):
    """Make Jupyter read the settings in these folders before any others."""
    paths = [*map(str, folders), os.environ.get("JUPYTER_CONFIG_PATH")]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, paths))


def open_lab(python, folder, options, *more):
    """Replace this process with JupyterLab, serving a folder, with the course's home page open."""
    command = [
        str(python), "-m", "jupyterlab", f"--ServerApp.root_dir={folder}",
        f"--ServerApp.port={options.port}", "--log-level=WARN", *more,
    ]  # fmt: skip
    # Without the extension that shows the home page, start with the first lecture.
    environment = Path(python).parents[1]
    if not (environment / "share/jupyter/labextensions/roofcheck").is_dir():
        command.append(f"--LabApp.default_url={FIRST_LECTURE}")
    if options.browser == "none":
        command.append("--no-browser")
    elif options.browser != "default":
        command.append(f"--browser={options.browser}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # Containers usually run as root, which Jupyter refuses by default.
        command.append("--allow-root")
    print("JupyterLab prints its address below. Press Ctrl+C to stop it.", flush=True)
    # Kernels must start from this environment.
    os.environ["PATH"] = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"
    if os.name == "nt":
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
