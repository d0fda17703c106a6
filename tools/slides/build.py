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
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_markdown_cell, new_notebook
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import sync_playwright

from rooflab import palette
from rooflab.explore.pages import write_modules
from tools.notebooks.kept_runs import run_for_page
from tools.sentences import sentence
from tools.slides.chromium import FLAGS, PAGE_TIMEOUT, NoBrowserError, find_chromium
from tools.slides.decks import LOOKING_SECONDS, DeckError, split_slides
from tools.slides.talks import read_talk_file
from tools.web.formulas import DeckExporter

ROOT = Path(__file__).resolve().parents[2]
DECK_FOLDER = Path(__file__).with_name("deck")
REVEAL_FOLDER = Path(__file__).with_name("reveal")
WEB_FOLDER = ROOT / "tools/web"
# Printing before this is true gives empty pages and pictures.
IS_PRINTABLE = """() => {
  const count = (what) => document.querySelectorAll(what).length;
  return window.Reveal?.isReady() && count(".pdf-page") &&
    count(".live-picture") === count(".live-picture svg");
}"""


def main(argv=None, root=ROOT):
    """Build the decks named on the command line, or all, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sources", nargs="*", type=Path, help="lectures (.ipynb) and talks (.toml)")
    parser.add_argument("--into", type=Path, default=ROOT / "build/slides", help="a folder")
    parser.add_argument("--no-pdf", action="store_true", help="write only HTML")
    args = parser.parse_args(argv)
    lectures = sorted(root.glob("course/en/*.ipynb"))
    sources = args.sources or [*lectures, *sorted(root.glob("course/talk*.toml"))]
    printer = None
    try:
        decks = make_decks(sources, lectures)
        printer = None if args.no_pdf else find_chromium()
    except NoBrowserError as error:
        print(f"The decks come without PDFs: {error}.", file=sys.stderr)
    except (DeckError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    args.into.mkdir(parents=True, exist_ok=True)
    written = [write_deck(deck, args.into / f"{path.stem}.html") for path, deck in decks.items()]
    try:
        written += print_decks(written, printer) if printer else []
    except PlaywrightError as error:
        print(f"The decks are built, but printing their PDFs failed: {error}", file=sys.stderr)
        return 1
    for path in written:
        print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
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
    return {
        path: make_talk_deck(talks[path], everything, notebooks.values())
        if path in talks
        else make_lecture_deck(notebooks[path])
        for path in sources
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
    lecture.cells = [
        cell for slide in split_slides(lecture) for cell in slide.stage_cells(slide.seconds)
    ]
    return lecture


def make_talk_deck(talk, slides, lectures):
    """Return the notebook of a talk's deck: a title slide, then the talk's slides."""
    title = new_markdown_cell(f"# {talk.title}", id="title")
    title.metadata = {"slideshow": {"slide_type": "slide"}, "timing": LOOKING_SECONDS}
    chosen = talk.choose_slides(slides)
    # Spare time goes to questions after the last slide, not to slower slides.
    spare = 60 * talk.minutes - LOOKING_SECONDS - sum(slide.seconds for slide in chosen)
    deck = new_notebook(cells=[title], metadata={"title": talk.title})
    for slide in chosen:
        first, *rest = slide.stage_cells(slide.seconds + spare * (slide is chosen[-1]))
        first.metadata.slideshow = {"slide_type": "slide"}
        deck.cells += [first, *rest]
    # Only the modules of pictures that the talk shows.
    outputs = str([cell.get("outputs") for cell in deck.cells])
    deck.metadata.live_modules = {
        name: module
        for lecture in lectures
        for name, module in lecture.metadata.get("live_modules", {}).items()
        if name in outputs
    }
    return deck


def write_deck(deck, target):
    """Write a deck as one HTML file and return its path."""
    template = (DECK_FOLDER / "index.html.j2").read_text(encoding="utf-8")
    exporter = DeckExporter(raw_template=template)
    reveal = {path.name: path.read_text(encoding="utf-8") for path in REVEAL_FOLDER.iterdir()}
    drawing = quote(palette.fill_colours((DECK_FOLDER / "title.svg").read_text(encoding="utf-8")))
    styles = [
        reveal["reveal.css"],
        reveal["white.css"],
        palette.css_rules(palette.JUPYTER_DARK),
        f':root {{ --roof-drawing: url("data:image/svg+xml,{drawing}"); }}',
        embed_fonts(WEB_FOLDER / "fonts/fonts.css"),
        (WEB_FOLDER / "formulas.css").read_text(encoding="utf-8"),
        (DECK_FOLDER / "deck.css").read_text(encoding="utf-8"),
    ]
    parts = {
        "styles": styles,
        "scripts": [reveal["reveal.js"], reveal["notes.js"]],
        "live": write_modules(deck.metadata.get("live_modules", {})),
        "words": {key: sentence(f"deck.{key}") for key in ("key_code", "key_dark", "code")},
        "start": (DECK_FOLDER / "deck.js").read_text(encoding="utf-8"),
    }
    resources = {"metadata": {"name": target.stem}, "deck": parts}
    page, _ = exporter.from_notebook_node(deck, resources)
    target.write_text(page, encoding="utf-8")
    return target


def embed_fonts(path):
    """Return the style rules of a file, with the fonts that they name."""

    def embed(match):
        data = base64.b64encode(path.with_name(match[1]).read_bytes()).decode()
        return f'url("data:font/woff2;base64,{data}")'

    return re.sub(r"url\((.+?)\)", embed, path.read_text(encoding="utf-8"))


def print_decks(decks, chromium):
    """Print each deck twice: only the slides, and with a page of script after each slide."""
    printed = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=FLAGS, timeout=PAGE_TIMEOUT
        )
        for deck in decks:
            for query, end in (("", ".pdf"), ("&showNotes=separate-page", "-notes.pdf")):
                page = browser.new_page()
                page.set_default_timeout(PAGE_TIMEOUT)
                page.goto(f"{deck.resolve().as_uri()}?print-pdf{query}")
                page.wait_for_function(IS_PRINTABLE)
                target = deck.with_name(deck.stem + end)
                # reveal.js adds a blank page at the end.
                pages = ".pdf-page, .speaker-notes-pdf[data-layout=separate-page]"
                options = {"prefer_css_page_size": True, "print_background": True}
                page.pdf(path=target, page_ranges=f"1-{page.locator(pages).count()}", **options)
                page.close()
                printed.append(target)
        browser.close()
    return printed
