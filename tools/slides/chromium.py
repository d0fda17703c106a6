"""The browser that prints decks and that the tests drive."""

import os
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip


# Milliseconds before a page is given up: no time that a busy machine may take.
PAGE_TIMEOUT = 120_000


class NoBrowserError(RuntimeError):
    """There is no Chromium; the message says how to get one."""


def find_chromium():
    """The path of a Chromium or Chrome; $CHROMIUM first. Raises NoBrowserError without one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    candidates = [os.environ.get("CHROMIUM"), *map(shutil.which, names)]
    with sync_playwright() as playwright:
        candidates.append(playwright.chromium.executable_path)
    for path in filter(None, candidates):
        if Path(path).is_file():
            return path
    raise NoBrowserError(
        "no Chromium found: apt install chromium, or playwright install chromium, or set CHROMIUM "
        "to the path of one"
    )
