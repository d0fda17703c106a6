"""Open the course in JupyterLab: its first lecture, at the given port, with or without a window."""

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIRST_LECTURE = "course/en/01-where-does-the-time-go.ipynb"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8888)
    parser.add_argument("--browser", default="default", help='a browser\'s name, or "none"')
    args = parser.parse_args()
    command = [
        sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={ROOT}",
        f"--ServerApp.port={args.port}", f"--LabApp.default_url=/lab/tree/{FIRST_LECTURE}",
        "--log-level=WARN",
    ]  # fmt: skip
    if args.browser == "none":
        command.append("--no-browser")
    elif args.browser != "default":
        command.append(f"--browser={args.browser}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # In a container root is the usual user, and Jupyter refuses it unless told.
        command.append("--allow-root")
    print("JupyterLab prints its address below; stop it with Ctrl+C.", flush=True)
    # nbgrader looks for its configuration in the working directory, kernels for this environment.
    os.chdir(ROOT)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.execv(sys.executable, command)


if __name__ == "__main__":
    main()
