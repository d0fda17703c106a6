"""Slides of decks in a real browser without a network."""

import contextlib
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pypdf
import pytest
from driver import EACH, FIRST, LECTURES, ROOT, new_context, screenshot

from tools.slides import decks

BUTTONS = ROOT / "course/en/06-many-chips.ipynb"
SHORT = ROOT / "course/talk-why-slow.toml"
TALKS = sorted((ROOT / "course").glob("talk*.toml"))
OTHERS = pytest.mark.weekly("every deck is fit to show, not only the first")
DECKS = [FIRST.stem, *(pytest.param(path.stem, marks=OTHERS) for path in (*LECTURES[1:], *TALKS))]
SCREENS = ((1280, 720), (1280, 800), (1920, 1080))
READY = "() => window.Reveal?.isReady()"
PRINTABLE = "() => window.Reveal?.isReady() && document.querySelector('.pdf-page')"
# An audience cannot read more while it listens.
MOST_WORDS, MOST_WORDS_DEEPER = 42, 80

SHOW = """(number) => {
  const { h, v } = Reveal.getIndices(Reveal.getSlides()[number]);
  Reveal.slide(h, v, 99);
}"""
# The background changes its colour gradually.
FADED = "() => document.getAnimations().every(({ playState }) => playState !== 'running')"
# The position of each part of the current slide.
PLACES = """() => [...Reveal.getCurrentSlide().querySelectorAll("*")].map((part) => {
  const { x, y, width, height } = part.getBoundingClientRect();
  return [part.tagName, x, y, width, height].join(" ");
})"""
UNREADABLE = Path(__file__).with_name("code_panel.js").read_text(encoding="utf-8")
LOOK = Path(__file__).with_name("look.js").read_text(encoding="utf-8")


def build(folder, *options):
    subprocess.run(
        [sys.executable, "-m", "tools.slides", "--into", folder, *options], cwd=ROOT, check=True
    )


@pytest.fixture(scope="module")
def built(request, chromium, tmp_path_factory):
    """A folder with all decks, or only with the first if no weekly tests run."""
    folder = tmp_path_factory.mktemp("slides")
    ours = [item for item in request.session.items if item.path == Path(__file__)]
    every = any(item.get_closest_marker("weekly") for item in ours)
    build(folder, "--no-pdf", *(() if every else (FIRST,)))
    return folder


def room(browser):
    return new_context(browser, offline=True, viewport={"width": 1280, "height": 720})


@pytest.fixture
def context(browser):
    with room(browser) as context:
        yield context


@pytest.fixture
def deck(context, built):
    with opening(context, built) as deck:
        yield deck


@pytest.fixture(scope="module", params=DECKS)
def whole(request, browser, built):
    """A deck that several tests share, and the sizes of screens to show it on.

    Screens scale slides the same way in all decks, so only one deck is shown on several.
    """
    screens = SCREENS if request.param == SHORT.stem else SCREENS[:1]
    with room(browser) as context, opening(context, built) as deck:
        yield deck(request.param), screens


@contextlib.contextmanager
def opening(context, built):
    """Open decks, which must cause no errors and load nothing."""
    asked, errors = [], []
    context.on("request", lambda request: asked.append(request.url))
    context.on("weberror", lambda error: errors.append(error.error))
    context.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)

    def deck(name, cell="", query=""):
        page = context.new_page()
        page.goto(f"{(built / name).as_uri()}.html{query}#/{cell}")
        page.wait_for_function(READY)
        return page

    yield deck
    assert not errors
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []


def shown(path):
    """Return the slides of a lecture."""
    return decks.split_slides(nbformat.read(path, as_version=4))


def live_slides(name):
    """Return the ids of a lecture's slides with live pictures."""
    return [
        slide.id
        for slide in shown(ROOT / f"course/en/{name}.ipynb")
        if any(
            re.search(r"^explore\.", cell.source, re.M) and decks.get_slide_type(cell) != "skip"
            for cell in slide.cells
        )
    ]


def test_every_slide_is_fit_to_show(whole):
    (page, screens), faults = whole, []
    for width, height in screens:
        page.set_viewport_size({"width": width, "height": height})
        most = MOST_WORDS
        for number in range(page.evaluate("Reveal.getTotalSlides()")):
            page.evaluate(SHOW, number)
            seen = page.evaluate(LOOK)
            place = f"{seen['id']} at {width} x {height}"
            if height == SCREENS[0][1]:
                screenshot(page, f"slide-{seen['id']}")
            faults += [f"{place}: text under 24 px: {what}" for what in seen["small"]]
            beyond = [f"beyond the slide: {what}" for what in seen["outside"][:1]]
            faults += [f"{place}: {what}" for what in beyond + seen["alone"]]
            if not seen["heading"].strip():
                faults.append(f"{place}: no heading")
            if seen["id"].endswith("-deeper"):
                most = MOST_WORDS_DEEPER
            elif seen["words"] > most:
                faults.append(f"{place}: {seen['words']} words")
            if re.search(r"\w+\(\w+=|array\(|\(-?[\d.]+(e[+-]\d+)?, ", seen["text"]):
                faults.append(f"{place}: a raw value: {seen['text'][:60]}")
    assert not faults, "\n".join(faults)


def test_code_lies_over_the_slide_and_moves_nothing(whole):
    (page, screens), faults = whole, []
    panel = page.locator("#code")
    for width, height in screens:
        page.set_viewport_size({"width": width, "height": height})
        for number in range(page.evaluate("Reveal.getTotalSlides()")):
            page.evaluate(SHOW, number)
            place = f"{page.evaluate('Reveal.getCurrentSlide().id')} at {width} x {height}"
            before = page.evaluate(PLACES)
            page.keyboard.press("c")
            moved = set(page.evaluate(PLACES)) - set(before)
            faults += [f"{place}: {part} moved" for part in list(moved)[:1]]
            faults += [f"{place}: code is {what}" for what in page.evaluate(UNREADABLE)]
            if panel.is_visible():
                page.keyboard.press("c")
            if panel.is_visible() or page.evaluate(PLACES) != before:
                faults.append(f"{place}: the second C leaves a trace")
    assert not faults, "\n".join(faults)


MOVING = [each for each in EACH if live_slides(each.values[0].stem)]


@pytest.mark.parametrize("lecture", MOVING)
def test_sliders_move_by_keys_and_mouse_and_keep_their_keys(deck, lecture):
    for cell in live_slides(lecture.stem):
        page = deck(lecture.stem, cell)
        picture = page.locator(f"section#{cell} .roofkit-picture svg")
        handle = page.locator(f"section#{cell} .roofkit-picture input[type=range]").first
        before = picture.inner_html()
        handle.focus()
        handle.press("ArrowRight")
        after = picture.inner_html()
        assert after != before
        # A click at its other end moves a slider.
        far = int(handle.input_value()) * 2 < int(handle.get_attribute("max"))
        width, height = (handle.bounding_box()[side] for side in ("width", "height"))
        handle.click(position={"x": width * (0.95 if far else 0.05), "y": height / 2})
        assert picture.inner_html() != after
        # Arrow keys move the slider, a clicker's key changes the slide.
        assert page.evaluate("Reveal.getCurrentSlide().id") == cell
        left = picture.inner_html()
        handle.focus()
        handle.press("PageDown")
        last = page.evaluate("Reveal.getSlides().at(-1).id") == cell
        assert last or page.evaluate("Reveal.getCurrentSlide().id") != cell
        page.keyboard.press("ArrowRight")
        assert picture.inner_html() == left
        page.close()


@pytest.mark.weekly("a speaker can click a button and go on by the space bar")
def test_a_button_that_was_clicked_gives_the_space_bar_back(deck):
    [cell] = live_slides(BUTTONS.stem)
    page = deck(BUTTONS.stem, cell)
    buttons = page.locator(f"section#{cell} .buttons button")
    buttons.last.click()
    page.wait_for_function("() => document.querySelector('[aria-pressed=true]:last-child')")
    page.keyboard.press("Space")
    assert page.evaluate("Reveal.getCurrentSlide().id") != cell


def test_keys_of_the_presenter(deck):
    page = deck(FIRST.stem, "l01-two-chips")
    assert page.evaluate("Reveal.getCurrentSlide().id") == "l01-two-chips"
    background = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.keyboard.press("d")
    assert page.evaluate(background) != light
    screenshot(page, "slide-dark")
    page.keyboard.press("d")
    panel = page.locator("#code")
    page.keyboard.press("c")
    assert "show(times(estimates))" in panel.inner_text()
    screenshot(page, "slide-code")
    page.keyboard.press("c")
    assert not panel.is_visible()
    page.evaluate("location.hash = '#/l01-network'")
    page.wait_for_function("Reveal.getCurrentSlide().id === 'l01-network'")
    page.keyboard.press("c")
    assert not panel.is_visible(), "code gives away what a click is to show"
    page.keyboard.press("PageDown")
    page.keyboard.press("c")
    assert "reveal(" in panel.inner_text()
    page.keyboard.press("PageDown")
    assert not panel.is_visible(), "code hides what comes next"
    page.keyboard.press("c")
    assert "table(" in panel.inner_text()
    page.keyboard.press("o")
    assert page.evaluate("Reveal.isOverview()")
    page.keyboard.press("o")
    page.keyboard.press("b")
    assert page.evaluate("Reveal.isPaused()")
    page.keyboard.press("b")
    page.keyboard.press("g")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    assert page.locator(".slide-number").inner_text().split()[0] == "3"


@pytest.mark.weekly("the speaker's window has all that a speaker needs")
def test_the_speakers_window_has_script_clock_pace_and_next_slide(deck, context):
    page = deck(FIRST.stem, "l01-overlap")
    with context.expect_page() as opened:
        page.keyboard.press("s")
    window = opened.value
    script = window.locator(".speaker-controls-notes .value")
    [slide] = [slide for slide in shown(FIRST) if slide.id == "l01-overlap"]
    script.get_by_text(slide.script.partition(":")[0].partition(".")[0]).wait_for()
    assert re.match(r"\d+:\d+", window.locator(".clock-value").inner_text().strip())
    assert window.locator(".pacing").is_visible()
    upcoming = window.frame_locator("#upcoming-slide iframe")
    upcoming.locator("section#l01-guess-sum.present").wait_for(state="attached")
    window.set_viewport_size({"width": 1400, "height": 800})
    screenshot(window, "slide-speaker")


@pytest.mark.weekly("every slide of a talk can be read by a screen reader and in the dark")
def test_no_slide_keeps_people_out(deck, axe):
    page = deck("talk")
    page.evaluate(axe)
    faults = set()
    for room, rules in (("false", {}), ("true", {"runOnly": ["color-contrast"]})):
        page.evaluate(f"dark({room})")
        page.wait_for_function(FADED)
        for number in range(page.evaluate("Reveal.getTotalSlides()")):
            page.evaluate(SHOW, number)
            found = page.evaluate(
                "rules => axe.run(Reveal.getCurrentSlide(), rules)", {"preload": False, **rules}
            )
            for fault in found["violations"]:
                if fault["impact"] in ("serious", "critical"):
                    faults.add((room, fault["id"], fault["nodes"][0]["html"]))
    assert not faults


@pytest.mark.parametrize("name", DECKS)
def test_every_printed_page_holds_its_slide_or_its_script(deck, name):
    page = deck(name, query="?print-pdf&showNotes=separate-page")
    page.wait_for_function(PRINTABLE)
    lost = page.evaluate(
        """() => [...document.querySelectorAll(".pdf-page")].flatMap((sheet) => {
          const bottom = sheet.getBoundingClientRect().bottom + 1;
          const parts = [...sheet.querySelectorAll("section *")];
          const beyond = parts.find((part) => !part.closest(".notes, math") &&
            part.getBoundingClientRect().bottom > bottom);
          const small = [...sheet.querySelectorAll("img")].find((img) => img.clientHeight < 200);
          const empty = !sheet.querySelector("section")?.innerText.trim();
          return beyond || small || empty
            ? [`${sheet.querySelector("section")?.id}: ${(beyond ?? small)?.textContent}`] : [];
        })"""
    )
    # A page of script is as high as a slide and cuts off longer text.
    lost += page.evaluate(
        """() => [...document.querySelectorAll(".speaker-notes-pdf")]
          .filter((sheet) => sheet.scrollHeight > document.querySelector(".pdf-page").clientHeight)
          .map((sheet) => `script: ${sheet.textContent.trim().slice(0, 60)}`)"""
    )
    assert not lost


@pytest.mark.weekly("a deck prints as PDF, with a page a slide and one for each script")
def test_pdfs_have_a_page_a_slide_and_one_for_each_script(chromium, tmp_path):
    build(tmp_path, LECTURES[0])
    every = shown(FIRST)
    pages = pypdf.PdfReader(tmp_path / f"{FIRST.stem}.pdf").pages
    assert len(pages) == len(every)
    assert "Where does the time go?" in pages[0].extract_text()
    pages = pypdf.PdfReader(tmp_path / f"{FIRST.stem}-notes.pdf").pages
    assert len(pages) == len(every) + sum(bool(slide.script) for slide in every)
    assert " ".join(every[0].script.split()[:4]) in " ".join(pages[1].extract_text().split())
