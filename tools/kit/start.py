"""Set up the course once, then open it in JupyterLab: python start.py

On Linux, macOS and Windows; needs Python 3.11 or later, and a network the first time.
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
# How the course sets up JupyterLab: no question about news, text that opens as one reads it,
# kernels that talk in cipher, and a file browser without what the set-up needs.
SETTINGS = HERE / ".jupyter"


def main():
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(
            f"This is Python {sys.version.split()[0]}; the course needs 3.11 or later. Install it "
            "(python.org has installers) and start with that one."
        )
    options = make_parser(__doc__).parse_args()
    use_jupyter_settings(SETTINGS)
    open_lab(set_up_environment(HERE), HERE, options)


def make_parser(description):
    """A parser for the port and the browser."""
    found = argparse.ArgumentParser(description=description.partition(":")[0])
    found.add_argument("--port", type=int, default=8888)
    found.add_argument("--browser", default="default", help='a browser\'s name, or "none"')
    return found


def set_up_environment(folder):
    """The Python of the folder's virtual environment, made anew if what it holds has changed."""
    wheels, lock = sorted(folder.glob("roof*.whl")), folder / "requirements.lock"
    installer = folder / ".packages/install.py"
    if len(wheels) < 3 or not lock.is_file() or not installer.is_file():
        sys.exit(
            f"{folder} lacks a wheel, requirements.lock or the folder .packages: unpack the whole "
            "archive again."
        )
    environment = folder / ".venv"
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = environment / "ready"
    state = hashlib.sha256(b"".join(each.read_bytes() for each in (lock, *wheels))).hexdigest()
    if ready.is_file() and ready.read_text() == state:
        return python
    print("Setting up, once; this takes about half a minute.", flush=True)
    if environment.exists():
        shutil.rmtree(environment)
    try:
        venv.create(environment, with_pip=True)
        subprocess.run([python, installer, "--no-deps", "-r", lock, *wheels], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(
            f"The set-up failed: {error}\nIs there a network? On Debian and Ubuntu the package "
            "python3-venv is needed too. Then start again."
        )
    trust_notebooks(python, folder)
    ready.write_text(state)
    return python


def trust_notebooks(python, folder):
    """Tell Jupyter that the course's notebooks are from who opens them, as they come."""
    notebooks = [*folder.glob("course/*/*.ipynb"), *folder.glob("exercises/*/*/*.ipynb")]
    subprocess.run(
        [python, "-m", "jupyter", "trust", "--log-level=WARN", *notebooks],
        stdout=subprocess.DEVNULL,
    )


def use_jupyter_settings(*folders):
    """Let Jupyter read its settings in these folders before any others."""
    paths = [*map(str, folders), os.environ.get("JUPYTER_CONFIG_PATH")]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, paths))


def open_lab(python, folder, options, *more):
    """Become JupyterLab, serving a folder, with the course's home open."""
    command = [
        str(python), "-m", "jupyterlab", f"--ServerApp.root_dir={folder}",
        f"--ServerApp.port={options.port}", "--log-level=WARN", *more,
    ]  # fmt: skip
    # The home is an extension; whatever keeps it from being there keeps nobody from the course.
    environment = Path(python).parents[1]
    if not (environment / "share/jupyter/labextensions/roofcheck").is_dir():
        command.append(f"--LabApp.default_url={FIRST_LECTURE}")
    if options.browser == "none":
        command.append("--no-browser")
    elif options.browser != "default":
        command.append(f"--browser={options.browser}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # In a container root is the usual user, and Jupyter refuses it unless told.
        command.append("--allow-root")
    print("JupyterLab prints its address below; stop it with Ctrl+C.", flush=True)
    # Kernels start from this environment.
    os.environ["PATH"] = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"
    if os.name == "nt":
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
