"""Find the browser that prints decks and runs the page tests."""

import os
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
# Milliseconds to wait for a page; longer than a busy machine ever needs.
PAGE_TIMEOUT = 120_000


class NoBrowserError(RuntimeError):
    """No Chromium is installed; the message says how to get one."""


def find_chromium():
    """Return the path of Chromium or Chrome, preferably $CHROMIUM. Raises NoBrowserError."""
    names = ("chromium", "chromium-browser", "google-chrome")
    candidates = [os.environ.get("CHROMIUM"), *map(shutil.which, names)]
    with sync_playwright() as playwright:
        candidates.append(playwright.chromium.executable_path)
    for path in filter(None, candidates):
        if Path(path).is_file():
            return path
    raise NoBrowserError(
        "no Chromium found: run `apt install chromium` or `playwright install chromium`, or set "
        "CHROMIUM to its path"
    )
