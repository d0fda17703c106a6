"""Print pages and decks as PDFs with Chromium, if it is installed."""

import os
import shutil

from playwright.sync_api import sync_playwright

# A deck says when it is laid out; another page is ready when its live pictures are.
READY = "() => window.isLaidOut ?? !document.querySelector('.live-picture:not(.roofkit-picture)')"


def find_browser():
    """Return the path of Chromium or Chrome, preferably $CHROMIUM, or None."""
    names = os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"
    return next(filter(None, map(shutil.which, names)), None)


def print_page(browser, address, target):
    """Print the page at an address, with all that its scripts draw, and return the target."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        (page := chromium.new_page()).goto(address)
        page.wait_for_function(READY)
        page.pdf(path=target, prefer_css_page_size=True, print_background=True)
        chromium.close()
    return target
