"""The decks of the site: those that `make slides` made, if it has been run."""

import shutil
import sys

from tools.sentences import sentence
from tools.slides.deck_titles import deck_titles


def copy_decks(slides, into):
    """Copy the decks; returns the title of each, and its files by their names for readers."""
    found = deck_titles(slides)
    if not found:
        print(f"no decks in {slides}, so the site has none; make slides first", file=sys.stderr)
        return {}
    into.mkdir()
    taken = {}
    for deck, title in found.items():
        names = {"html": deck.name, "pdf": f"{deck.stem}.pdf", "notes": f"{deck.stem}-notes.pdf"}
        files = {
            sentence(f"downloads.{kind}"): name
            for kind, name in names.items()
            if (slides / name).is_file()
        }
        for name in files.values():
            shutil.copy(slides / name, into)
        taken[deck.stem] = {"title": title.strip(), "files": files}
    return taken
