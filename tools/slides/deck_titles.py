"""The decks that have been built, by the titles that they show."""

import html
import re


def deck_titles(folder):
    """The title of each deck in a folder, by its path."""
    return {
        path: html.unescape(re.search("<title>(.*?)</title>", path.read_text("utf-8"), re.S)[1])
        for path in sorted(folder.glob("*.html"))
    }
