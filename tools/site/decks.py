"""The decks that `make slides` made, as far as there are any."""

import re
import shutil
import sys


def take(slides, into):
    """Copy the decks; what each is called and which files of it there are."""
    found = sorted(slides.glob("*.html"))
    if not found:
        print(f"no decks in {slides}, so the site has none; make slides first", file=sys.stderr)
        return {}
    into.mkdir()
    decks = {}
    for deck in found:
        label = re.search(r"<title>(.*?)</title>", deck.read_text(encoding="utf-8"), re.S)[1]
        files = {"Slides": deck.name, "PDF": f"{deck.stem}.pdf"}
        files["PDF with notes"] = f"{deck.stem}-notes.pdf"
        files = {kind: name for kind, name in files.items() if (slides / name).is_file()}
        for name in files.values():
            shutil.copy(slides / name, into)
        decks[deck.stem] = {"title": label.strip(), "files": files}
    return decks
