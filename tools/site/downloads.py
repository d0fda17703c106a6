"""Find the built decks, and copy them to the site."""

import html
import re
import shutil
import sys

from tools.sentences import sentence


def find_deck_titles(folder):
    """Return the title of each deck in a folder, by its path."""
    return {
        path: html.unescape(re.search("<title>(.*?)</title>", path.read_text("utf-8"), re.S)[1])
        for path in sorted(folder.glob("*.html"))
    }


def copy_decks(slides, into):
    """Copy the decks, and return each deck's title and its files by label."""
    titles = find_deck_titles(slides)
    if not titles:
        print(f"{slides} has no decks, so the site has none. Run make slides.", file=sys.stderr)
        return {}
    into.mkdir()
    copied = {}
    for deck, title in titles.items():
        names = {"html": deck.name, "pdf": f"{deck.stem}.pdf", "notes": f"{deck.stem}-notes.pdf"}
        names = {kind: name for kind, name in names.items() if (slides / name).is_file()}
        files = {sentence(f"downloads.{kind}"): name for kind, name in names.items()}
        for name in files.values():
            shutil.copy(slides / name, into)
        copied[deck.stem] = {"title": title.strip(), "files": files}
    return copied
