"""Print pages and decks as PDFs with Chromium, if it is installed."""

import os
import shutil
import subprocess
import tempfile


def find_browser():
    """Return the path of Chromium or Chrome, preferably $CHROMIUM, or None."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


def print_page(browser, address, target):
    """Print the page at an address, with all that its scripts draw. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
            "--disable-background-networking", "--no-pdf-header-footer", "--no-first-run",
            "--virtual-time-budget=60000", f"--print-to-pdf={target}", address,
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    return target
