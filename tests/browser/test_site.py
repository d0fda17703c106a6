"""Build the site once, then open its files in a real browser without a network."""

import re
import runpy
import subprocess
import sys
import zipfile
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import nbformat
import pages
import pypdf
import pytest
from driver import HANDLE, LECTURES, ROOT, drag, drawn, new_context, screenshot, wait_redrawn
from hidden import solution_lines

import roofcheck
import roofkit as rk
from rooflab import explore, plot

LIVE = [path.stem for path in LECTURES if '"explore.' in path.read_text(encoding="utf-8")]
SETS = sorted(path.stem for path in (ROOT / "exercises/en").glob("*/*.ipynb"))
WHEELS = ("roofkit-0.1.0-py3-none-any.whl", "roofcheck-0.1.0-py3-none-any.whl")
DECKS = (LECTURES[0].stem, "talk-short")
# One page of each kind.
KINDS = (
    "index.html", f"lectures/{LIVE[3]}.html", f"problems/{SETS[0]}.html", "guide.html",
    "chips.html", "model.html", "api/models.html", "slides.html", "search.html?q=scratchpad",
)  # fmt: skip
# In the dark only colours differ. Without preload axe fetches nothing, which files cannot.
RULES = {
    "light": {"preload": False, "resultTypes": ["violations"]},
    "dark": {"preload": False, "resultTypes": ["violations"], "runOnly": ["color-contrast"]},
}
PHONE = {"width": 390, "height": 844}
SHRUNK = """() => [...document.images].filter(({ naturalWidth, clientWidth, currentSrc }) =>
  naturalWidth > 1.05 * clientWidth && currentSrc.includes("svg")).map(({ alt }) => alt)"""

pytestmark = pytest.mark.weekly("the site: links, search, pictures without a kernel, phones")


@pytest.fixture(scope="module")
def site(chromium, tmp_path_factory):
    """Build the site with two small decks and a small kit."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "slides").mkdir()
    for deck in DECKS:
        (folder / f"slides/{deck}.html").write_text(f"<title>The deck {deck}</title>")
        (folder / f"slides/{deck}.pdf").write_bytes(b"%PDF")
    (folder / f"slides/{DECKS[0]}-notes.pdf").write_bytes(b"%PDF")
    with zipfile.ZipFile(folder / "kit.zip", "w") as kit:
        for wheel in WHEELS:
            kit.writestr(f"course/{wheel}", b"PK")
    given = ["--slides", folder / "slides", "--kit", folder / "kit.zip"]
    into = folder / "a host/course"
    address = ["--address", "https://example.org/course", "--repository", "https://example.org/r"]
    command = [sys.executable, "-m", "tools.site", "--into", into, *given, *address]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == str(into / "index.html")
    return into


@pytest.fixture(scope="module")
def offline(browser):
    with new_context(browser, offline=True, viewport={"width": 1280, "height": 900}) as context:
        yield context


@pytest.fixture
def page(offline):
    """A page that must load nothing from other hosts and run without errors."""
    page = offline.new_page()
    faults, urls = [], []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
    page.on("request", lambda request: urls.append(request.url))
    yield page
    page.close()
    assert faults == []
    assert [url for url in urls if not url.startswith(("file:", "data:", "blob:"))] == []


def show(page, site, name):
    page.goto(f"{site.as_uri()}/{name}")
    if any(stem in name for stem in LIVE):
        page.wait_for_selector(".roofkit-picture svg")


def test_every_link_leads_somewhere_on_the_site_or_out_of_it(site):
    read = {path: pages.read(path) for path in site.rglob("*.html")}
    assert len(read) > 20
    wrong, reached = [], {site / "index.html"}
    for path, page in read.items():
        wrong += [f"{path}: {address}" for address in page.loads if address.startswith("http")]
        for address in page.links + page.loads:
            if address.startswith(("https:", "http:", "data:")):
                continue
            target, place = pages.goal(path, address)
            reached.add(target)
            known = read[target].ids if target in read else {""}
            if not target.is_file() or (place and place not in known):
                wrong.append(f"{path}: {address}")
    assert wrong == []
    assert {*read} <= reached


def test_the_site_holds_every_lecture_set_deck_and_chip(site):
    start = pages.read(site / "index.html")
    assert "kit.zip" in start.links
    assert (site / ".nojekyll").is_file()
    names = [f"lectures/{path.stem}" for path in LECTURES] + [f"problems/{name}" for name in SETS]
    for name in names:
        assert f"{name}.html" in start.links
        links = pages.read(site / f"{name}.html").links
        assert {f"../notebooks/{name.partition('/')[2]}.ipynb", "../kit.zip"} <= {*links}
    lecture = pages.read(site / f"lectures/{DECKS[0]}.html")
    assert f"../slides/{DECKS[0]}-notes.pdf" in lecture.links
    slides = pages.read(site / "slides.html")
    assert all(f"The deck {deck}" in slides.text for deck in DECKS)
    assert f"slides/{DECKS[1]}.pdf" in slides.links
    chips = pages.read(site / "chips.html")
    for chip in rk.chips():
        assert chip.name in chips.text
        for figure in (*chip.peaks.values(), chip.bandwidth, chip.capacity):
            assert figure is None or figure.source in chips.text


def test_the_api_has_every_public_name(site):
    ids = set().union(*(pages.read(path).ids for path in site.glob("api/*.html")))
    for module in (rk, rk.network, plot, explore, roofcheck):
        for name in {*module.__all__} - {"COLOURS", "LINES"}:
            homes = {module.__name__, "roofkit.network"}
            assert {f"{home}.{name}" for home in homes} & ids, f"{module.__name__}.{name}"


def test_without_decks_the_builder_says_what_to_do(tmp_path, capsys):
    downloads = runpy.run_path(str(ROOT / "tools/site/downloads.py"))
    assert downloads["copy_decks"](tmp_path / "none", tmp_path / "slides") == {}
    assert "make slides" in capsys.readouterr().err


def test_no_file_names_the_machine_that_built_it(site):
    texts = [path for path in site.rglob("*") if path.suffix in (".html", ".js", ".css", ".svg")]
    for path in texts:
        text = path.read_text(encoding="utf-8")
        assert str(ROOT) not in text, path
        assert str(site.parents[1]) not in text, path
        assert "/tmp/" not in text, path


def test_problem_sets_come_without_solutions(site):
    lines = [re.sub(r"\s+", "", line) for line in solution_lines()]
    for name in SETS:
        text = pages.read(site / f"problems/{name}.html").text
        assert "YOUR CODE HERE" in text
        text = re.sub(r"\s+", "", text)
        assert [line for line in lines if line in text] == []
        taken = nbformat.read(site / f"notebooks/{name}.ipynb", as_version=4)
        sources = re.sub(r"\s+", "", "".join(cell.source for cell in taken.cells))
        assert [line for line in lines if line in sources] == []


def test_every_page_opens_without_a_network_and_fits_a_phone(site, page):
    page.set_viewport_size(PHONE)
    for path in sorted(site.rglob("*.html")):
        if path.parent.name == "slides" or path.name == "404.html":  # it stands on any address
            continue
        show(page, site, path.relative_to(site).as_posix())
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"], path
        # A figure for a phone is drawn, not shrunk, so that its text stays large enough.
        assert page.evaluate(SHRUNK) == [], path


@pytest.mark.parametrize("stem", LIVE)
def test_a_lectures_picture_moves_by_mouse_and_by_keys(site, page, stem):
    show(page, site, f"lectures/{stem}.html")
    sources = [cell.source for cell in nbformat.read(ROOT / f"course/en/{stem}.ipynb", 4).cells]
    live = sum(bool(re.search(r"^(\w+ = )?explore\.", source, re.M)) for source in sources)
    assert page.locator(".roofkit-picture").count() == live
    for handle in page.locator(HANDLE).all():
        before, value = drawn(page), int(handle.input_value())
        handle.press("ArrowLeft" if value else "ArrowRight")
        wait_redrawn(page, before)
    before = drawn(page)
    drag(page, "first", 400, of=("first",))  # of two stops, the other is nearer then
    wait_redrawn(page, before)


def test_answers_are_folded_until_they_are_opened(site, page):
    show(page, site, "lectures/02-arithmetic-intensity.html")
    assert page.locator("details[open]").count() == 0
    answer = page.get_by_text("It is 240.5 FLOP/byte.")
    assert not answer.is_visible()
    page.locator("input[data-question='l02.ridge']").fill("300")
    answer.locator("xpath=ancestor::details").locator("summary").click()
    assert answer.is_visible()
    assert page.get_by_text("You guessed 300 FLOP/byte.").is_visible()
    page.reload()
    assert page.locator("input[data-question='l02.ridge']").input_value() == "300"
    worked = page.locator("details", has_text="nearly N")
    assert worked.locator("summary").inner_text() == "Worked answer"
    assert not worked.get_by_text("nearly N").is_visible()
    worked.locator("summary").press("Enter")
    assert worked.get_by_text("nearly N").is_visible()
    for lecture in LECTURES:
        show(page, site, f"lectures/{lecture.stem}.html")
        pictures = page.locator("article img")
        assert pictures.count() == page.locator("article figure[id] img").count()
        assert page.locator("article details img").count() == 0
        text = pages.read(site / f"lectures/{lecture.stem}.html").text
        # Nobody can run cells or answer questions on a page.
        for words in ("No answer yet", "Shift+Enter", "Nothing is due", "Cost(0 FLOP"):
            assert words not in text, lecture
        # A page folds the same outputs as the notebook, but for pictures.
        cells = nbformat.read(lecture, 4).cells
        revealed = [cell for cell in cells if "reveal" in cell.metadata.get("tags", [])]
        folded = [out for cell in revealed for out in cell.outputs if "<img" not in str(out)]
        assert page.locator("details.fold").count() == len(folded) > 0


def test_a_page_can_be_shared_cited_and_corrected(site):
    name = LECTURES[0].stem
    text = (site / f"lectures/{name}.html").read_text(encoding="utf-8")
    address = f"https://example.org/course/lectures/{name}.html"
    for part in (
        f'<link rel="canonical" href="{address}">', f'<meta property="og:url" content="{address}">',
        '<meta name="description" content="A language model writes you a short answer.',
        f'<meta property="og:image" content="https://example.org/course/cards/{name}.png">',
        f"https://example.org/r/edit/main/course/text/{name}.md", "Cite this page", "/issues/new",
    ):  # fmt: skip
        assert part in text, part
    assert text.count('name="viewport"') == 1
    for path in (site / "cards").glob("*.png"):
        assert plt.imread(path).shape[:2] == (630, 1200)
    for name, spaces in (("sitemap.xml", "sitemaps.org"), ("feed.xml", "w3.org/2005/Atom")):
        root = ElementTree.parse(site / name).getroot()
        assert spaces in root.tag
        assert address in "".join(part.text or part.get("href", "") for part in root.iter())
    assert len(pypdf.PdfReader(site / "roofline-course.pdf").pages) > 100


def test_chips_are_sorted_by_a_column(site, page):
    page.set_viewport_size({"width": 1440, "height": 900})
    show(page, site, "chips.html")
    table = page.locator(".chips .table-wrapper").first
    assert table.evaluate("box => box.scrollWidth <= box.clientWidth")
    page.get_by_role("button", name="ridge").click()
    ridges = [
        float(cell) for cell in table.locator("td:nth-child(3)").all_inner_texts() if cell != "–"
    ]
    assert ridges == sorted(ridges, reverse=True)


def test_search_finds_a_word_between_files(site, page):
    show(page, site, "index.html")
    page.get_by_role("textbox", name="Search").fill("scratchpad")
    page.keyboard.press("Enter")
    page.locator("#search-results a[href*='api/scratchpad.html']").first.wait_for()
    # The search highlights words on the page that it opens, but not in the data of a picture.
    show(page, site, "search.html?q=ridge")
    page.locator(f"#search-results a[href*='{LIVE[1]}']").first.click()
    page.wait_for_selector(".roofkit-picture svg")
    assert page.locator("article span.highlighted").count() > 0


def test_the_keys_reach_what_can_be_used_and_show_where_they_are(site, page):
    show(page, site, f"lectures/{LIVE[4]}.html")
    page.wait_for_selector("math")
    search = page.get_by_role("textbox", name="Search")
    search.focus()
    assert search.evaluate("box => getComputedStyle(box).outlineStyle") == "solid"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_kind_of_page_has_a_serious_fault(site, page, scheme, axe):
    page.emulate_media(color_scheme=scheme)
    for name in KINDS:
        show(page, site, name)
        if "search" in name:
            page.locator("#search-results a").first.wait_for()
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        page.evaluate(axe)
        found = page.evaluate("options => axe.run(options)", RULES[scheme])["violations"]
        serious = [fault for fault in found if fault["impact"] in ("serious", "critical")]
        assert not [(f["id"], [node["html"] for node in f["nodes"]][:3]) for f in serious], name
        screenshot(page, f"site-{scheme}-{re.sub(r'[^a-z]+', '-', name)}")


def test_a_printed_page_is_black_on_white_with_its_answers(site, page):
    page.emulate_media(media="print", color_scheme="dark")
    show(page, site, "lectures/02-arithmetic-intensity.html")
    page.wait_for_selector("math")
    assert page.get_by_text("It is 240.5 FLOP/byte.").is_visible()
    assert page.get_by_text("nearly N").is_visible()
    for beside in (".sidebar-drawer", ".skip-to-content", ".theme-toggle-content"):
        assert not page.locator(beside).is_visible()
    style = "getComputedStyle(document.body)"
    assert page.evaluate(f"{style}.backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(f"{style}.color") == "rgb(0, 0, 0)"
    wrap = "[...document.querySelectorAll('pre')].map((box) => getComputedStyle(box).whiteSpace)"
    assert {*page.evaluate(wrap)} == {"pre-wrap"}
    filters = "[...document.querySelectorAll('article img')].map((i) => getComputedStyle(i).filter)"
    assert {*page.evaluate(filters)} == {"none"}
    screenshot(page, "site-print")
