"""Build decks from lectures and talks: one HTML file each, with live sliders and no network.

python -m tools.slides                          course/en/*.ipynb and course/talk*.toml
python -m tools.slides course/talk.toml         one talk
python -m tools.slides course/en/01-*.ipynb     one lecture
    -> build/slides/NAME.html, and if there is a browser to print them, NAME.pdf (a page per
   slide) and NAME-notes.pdf (with the script)
"""

import argparse
import base64
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import nbformat
import segno
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_markdown_cell, new_notebook

from rooflab import palette
from rooflab.explore.pages import write_modules
from tools.notebooks.kept_runs import run_for_page
from tools.sentences import sentence
from tools.slides.decks import LOOKING_SECONDS, DeckError, split_slides
from tools.slides.talks import read_talk_file
from tools.web.formulas import DeckExporter
from tools.web.printing import find_browser, print_page

ROOT = Path(__file__).resolve().parents[2]
DECK_FOLDER, REVEAL_FOLDER = map(Path(__file__).with_name, ("deck", "reveal"))
WEB_FOLDER = ROOT / "tools/web"


def main(argv=None, root=ROOT):
    """Build the decks named on the command line, or all, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sources", nargs="*", type=Path, help="lectures (.ipynb) and talks (.toml)")
    parser.add_argument("--into", type=Path, default=ROOT / "build/slides", help="a folder")
    parser.add_argument("--no-pdf", action="store_true")
    args = parser.parse_args(argv)
    lectures = sorted(root.glob("course/en/*.ipynb"))
    sources = args.sources or [*lectures, *sorted(root.glob("course/talk*.toml"))]
    try:
        decks = make_decks(sources, lectures)
    except (DeckError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    args.into.mkdir(parents=True, exist_ok=True)
    written = [write_deck(deck, args.into / f"{path.stem}.html") for path, deck in decks.items()]
    browser = None if args.no_pdf else find_browser()
    if not (browser or args.no_pdf):
        print("The decks have no PDFs, because there is no Chromium: apt install chromium")
    for deck in written[:] if browser else ():
        written += print_deck(browser, deck)
    print(*(f"{path} ({path.stat().st_size / 1e6:.1f} MB)" for path in written), sep="\n")
    return 0


def make_decks(sources, lectures):
    """Return each deck's notebook. A talk can use slides from any lecture or source."""
    stems = [path.stem for path in sources]
    if doubled := [stem for stem in stems if stems.count(stem) > 1]:
        raise DeckError(f"two sources would both become {doubled[0]}.html: rename one")
    talks = {path: read_talk_file(path) for path in sources if path.suffix == ".toml"}
    wanted = dict.fromkeys([*(p for p in sources if p not in talks), *(lectures * bool(talks))])
    # Running the lectures takes minutes, so look for wrong ids in the saved notebooks first.
    saved = [slide for path in wanted for slide in split_slides(read_notebook(path))]
    for talk in talks.values():
        print(talk.describe_minutes(saved))
    with ThreadPoolExecutor(2) as pool:
        notebooks = dict(zip(wanted, pool.map(run_notebook, wanted), strict=True))
    everything = [slide for notebook in notebooks.values() for slide in split_slides(notebook)]
    decks = {path: make_lecture_deck(notebooks[path]) for path in sources if path not in talks}
    return decks | {
        path: make_talk_deck(talk, everything, notebooks.values()) for path, talk in talks.items()
    }


def read_notebook(path):
    try:
        notebook = nbformat.read(path, as_version=4)
    except (ValueError, AttributeError, nbformat.ValidationError):
        raise DeckError(f"{path}: this is not a notebook") from None
    if not split_slides(notebook):
        raise DeckError(
            f'{path}: no cell starts a slide; give one the slide type "Slide" (in JupyterLab: the '
            "property inspector on the right)"
        )
    return notebook


def run_notebook(path):
    try:
        return run_for_page(path)
    except CellExecutionError as error:
        raise DeckError(f"{path}: a cell fails: {error.ename}: {error.evalue}") from None


def make_lecture_deck(lecture):
    """Return the notebook of a lecture's deck."""
    slides = split_slides(lecture)
    lecture.cells = [cell for slide in slides for cell in slide.stage_cells(slide.seconds)]
    return lecture


def make_talk_deck(talk, slides, lectures):
    """Return the notebook of a talk's deck: a title slide, then the talk's slides."""
    title = new_markdown_cell(f"# {talk.title}\n\n{talk.by}".strip(), id="title")
    title.metadata = {"slideshow": {"slide_type": "slide"}, "timing": LOOKING_SECONDS}
    chosen = talk.choose_slides(slides)
    # Spare time goes to questions after the last slide, not to slower slides.
    spare = 60 * talk.minutes - LOOKING_SECONDS - sum(slide.seconds for slide in chosen)
    deck = new_notebook(cells=[title], metadata={"title": talk.title})
    for slide in chosen:
        first, *rest = slide.stage_cells(slide.seconds + spare * (slide is chosen[-1]))
        first.metadata.slideshow = {"slide_type": "slide"}
        deck.cells += [first, *rest]
    if talk.address:
        code = segno.make(talk.address).svg_data_uri(border=1)
        link = sentence("deck.address", address=talk.address, code=code)
        deck.cells.append(new_markdown_cell(link, id="address"))
    # Only the modules of pictures that the talk shows.
    outputs = str([cell.get("outputs") for cell in deck.cells])
    modules = [lecture.metadata.get("live_modules", {}).items() for lecture in lectures]
    deck.metadata.live_modules = {k: v for each in modules for k, v in each if k in outputs}
    return deck


def write_deck(deck, target):
    """Write a deck as one HTML file and return its path."""
    template = (DECK_FOLDER / "index.html.j2").read_text(encoding="utf-8")
    exporter = DeckExporter(raw_template=template)
    reveal = {path.name: path.read_text(encoding="utf-8") for path in REVEAL_FOLDER.iterdir()}
    drawing = quote(palette.fill_colours((DECK_FOLDER / "title.svg").read_text(encoding="utf-8")))
    styles = [
        reveal["reveal.css"], reveal["white.css"], palette.css_rules(palette.JUPYTER_DARK),
        f':root {{ --roof-drawing: url("data:image/svg+xml,{drawing}"); }}',
        embed_fonts(WEB_FOLDER / "fonts/fonts.css"),
        (WEB_FOLDER / "formulas.css").read_text(encoding="utf-8"),
        (DECK_FOLDER / "deck.css").read_text(encoding="utf-8"),
    ]  # fmt: skip
    parts = {
        "styles": styles, "scripts": [reveal["reveal.js"], reveal["notes.js"]],
        "live": write_modules(deck.metadata.get("live_modules", {})),
        "words": {key: sentence(f"deck.{key}") for key in ("key_code", "key_dark", "code")},
        "start": (DECK_FOLDER / "deck.js").read_text(encoding="utf-8"),
    }  # fmt: skip
    resources = {"metadata": {"name": target.stem}, "deck": parts}
    page, _ = exporter.from_notebook_node(deck, resources)
    target.write_text(page, encoding="utf-8")
    return target


def embed_fonts(path):
    """Return the style rules of a file, with the fonts that they name."""
    read = lambda name: base64.b64encode(path.with_name(name).read_bytes()).decode()  # noqa: E731
    style = path.read_text(encoding="utf-8")
    return re.sub(r"url\((.+?)\)", lambda m: f"url(data:font/woff2;base64,{read(m[1])})", style)


def print_deck(browser, deck):
    """Print a deck twice: only the slides, and with a page of script after each slide."""
    ways = (("", ".pdf"), ("&showNotes=separate-page", "-notes.pdf"))
    address, name = f"{deck.resolve().as_uri()}?print-pdf", deck.with_suffix("")
    return [print_page(browser, address + query, Path(f"{name}{end}")) for query, end in ways]
