"""Open the course in JupyterLab: lectures and exercises, or with --all the whole repository.

A student meets what the kit holds; who teaches needs the solutions and nbgrader's Formgrader too.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tools/kit"))
from start import open_lab, parser  # noqa: E402

SERVED = ("course/en", "course/data", "exercises")


def main():
    options = parser(__doc__)
    options.add_argument("--all", action="store_true", help="serve the repository")
    options = options.parse_args()
    # nbgrader looks for its configuration in the working directory.
    os.chdir(ROOT)
    # The files alone come from elsewhere: nbgrader's Validate must find them below the root.
    files = [] if options.all else [f"--FileContentsManager.root_dir={served()}"]
    open_lab(sys.executable, ROOT, options, *files)


def served():
    """A folder that shows what students get, under the names that it has in the repository."""
    folder = ROOT / "build/lab"
    for name in SERVED:
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        # A repository that was moved brings links to where it was.
        link.unlink(missing_ok=True)
        link.symlink_to(ROOT / name)
    return folder


if __name__ == "__main__":
    main()
