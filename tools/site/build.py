"""Build the course's site: pages that work as local files or on any server.

    python -m tools.site        -> build/site/index.html

The site includes the decks and the kit if they are built (`make slides`, `make self-study`).
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import nbformat
import pypdf
from jinja2 import Environment, FileSystemLoader, StrictUndefined

import roofkit as rk
from roofcheck import course
from roofkit._units import format_quantity
from rooflab import explore
from rooflab.explore.pages import write_modules
from rooflab.palette import fill_colours
from rooflab.plot.cards import draw_card
from tools.notebooks.build import write_if_changed
from tools.notebooks.kept_runs import run_for_page
from tools.sentences import sentence
from tools.site import cards, downloads, folding
from tools.site.links import DOCUMENTS, find_released_notebooks, map_files_to_pages, relink_to_site
from tools.site.standalone import NEEDS, prepare_download
from tools.slides.talks import read_talk_file
from tools.web.printing import find_browser, print_page

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
BUILD, COURSE_PDF = ROOT / "build", "roofline-course.pdf"

TEMPLATES = Environment(
    loader=FileSystemLoader(HERE / "pages"), trim_blocks=True, lstrip_blocks=True,
    undefined=StrictUndefined,
)  # fmt: skip


def main(argv=None):
    """Build the site and return the exit status."""
    kit = max(BUILD.glob("roofline-self-study-*.zip"), default=None)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--into", type=Path, default=BUILD / "site", help="folder for the site")
    parser.add_argument("--slides", type=Path, default=BUILD / "slides", help="folder of the decks")
    parser.add_argument("--kit", type=Path, default=kit, help="the students' archive")
    parser.add_argument("--address", help="the site's URL, if course/term.toml doesn't have it")
    parser.add_argument("--repository", default="", help="its URL, for links to report a mistake")
    args = parser.parse_args(argv)
    site = (args.address or course.find_course(ROOT).term.site).rstrip("/")
    with tempfile.TemporaryDirectory() as work:
        pages, files = (Path(work, name) for name in ("pages", "files"))
        wheels = write_files(Path(work), files, args.kit, site)
        decks = downloads.copy_decks(args.slides, files / "slides")
        data = write_pages(pages, decks, args.kit, "" if site else wheels)
        about = describe_pages(data, site, args.repository.rstrip("/"))
        (Path(work) / "context.json").write_text(json.dumps(about), encoding="utf-8")
        command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
        for key in ("project", "html_title"):
            command += ["-D", f"{key}={sentence('site.title')}"]
        folders = ["-c", work, "-d", f"{work}/doctrees", pages, f"{work}/site"]
        if status := subprocess.run([*command, *folders]).returncode:
            return status
        shutil.rmtree(args.into, ignore_errors=True)
        unused = shutil.ignore_patterns(".buildinfo", "*.map")
        shutil.copytree(f"{work}/site", args.into, ignore=unused)
        if browser := find_browser():
            lectures, _ = find_released_notebooks()
            pages = [args.into / f"lectures/{path.stem}.html" for path in lectures]
            bind_course(browser, pages, args.into / COURSE_PDF)
        if site:  # these need full addresses
            write_cards(args.into / "cards")
            found = sorted(path.relative_to(args.into) for path in args.into.rglob("*.html"))
            for name in ("sitemap.xml", "feed.xml"):
                text = TEMPLATES.get_template(name).render(data, **about, pages=found)
                (args.into / name).write_text(text, encoding="utf-8")
    print(args.into / "index.html")
    return 0


def write_files(work, files, kit, site):
    """Write Sphinx's settings and the downloads, and return the names of the wheels."""
    shutil.copy(HERE / "conf.py", work)
    for folder in ("static", "templates"):
        shutil.copytree(HERE / folder, work / folder)
    icon = work / "static/favicon.svg"
    icon.write_text(fill_colours(icon.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copytree(ROOT / "tools/web/fonts", work / "static/fonts")
    shutil.copy(ROOT / "tools/web/formulas.css", work / "static")
    wheels = unpack_wheels(kit, files / "wheels") if kit else []
    lectures, problems = find_released_notebooks()
    for path in (*lectures, *problems):
        text = prepare_download(path, site, wheels) if kit else path.read_text(encoding="utf-8")
        write_if_changed(files / "notebooks" / path.name, text)
    shutil.copy(ROOT / "LICENSE", files / "LICENSE.txt")
    if kit:
        shutil.copy(kit, files)
    return wheels


def unpack_wheels(kit, into):
    """Unpack the kit's wheels and return their names, each after its dependencies."""
    into.mkdir(parents=True)
    with zipfile.ZipFile(kit) as archive:
        names = [name for name in archive.namelist() if name.endswith(".whl")]
        for name in names:
            (into / Path(name).name).write_bytes(archive.read(name))
    return sorted((Path(name).name for name in names), reverse=True)


def write_pages(pages, decks, kit, beside):
    """Write the pages for Sphinx, and return what their templates know.

    ``beside`` lists files to download along with a notebook.
    """
    asked = explore.model("Llama-3.1-70B", "H100", 4, batch=32, goal=50, predict=True)
    lectures, problems = find_released_notebooks()
    data = {
        "readme": read_with_site_links(ROOT / "README.md"),
        **{Path(page).stem: read_with_site_links(ROOT / name) for name, page in DOCUMENTS.items()},
        "question": sentence("site.question"),
        "ridge": explore.write_html(explore.ridge(), " data-address"),
        "lectures": {path.stem: describe_notebook(path) for path in lectures},
        "problems": {path.stem: describe_notebook(path) for path in problems}, "chips": rk.chips(),
        "format_quantity": format_quantity,
        "explorer": explore.write_html(asked, ' data-address="model"'),
        "left_out": list(explore.model().reasons_left_out.values()), "decks": decks,
        "talks": {path.stem: read_talk_file(path) for path in ROOT.glob("course/talk*.toml")},
        "kit": kit, "course_pdf": COURSE_PDF if find_browser() else "", "beside": beside,
    }  # fmt: skip
    for path in (HERE / "pages").rglob("[!_]*.md"):
        name = path.relative_to(HERE / "pages")
        if decks or name.stem != "slides":
            write_if_changed(pages / name, TEMPLATES.get_template(name.as_posix()).render(data))
    for picture in ("course/ridge.png", "benchmarks/accuracy.png"):
        shutil.copy(ROOT / picture, pages)
    with ThreadPoolExecutor(2) as pool:
        for path, notebook in zip(lectures, pool.map(run_for_page, lectures), strict=True):
            folding.fold_cells(notebook, f"../notebooks/{path.name}")
            page = make_notebook_page(notebook, path, "_lecture.md", data)
            write_if_changed(pages / "lectures" / path.name, page)
    for path in problems:
        notebook = nbformat.read(path, as_version=4)
        # Pages need no packages.
        notebook.cells[0].source = NEEDS.sub("", notebook.cells[0].source)
        page = make_notebook_page(notebook, path, "_problems.md", data)
        write_if_changed(pages / "problems" / path.name, page)
    return data


def bind_course(browser, pages, target):
    """Print these pages into one PDF."""
    with tempfile.TemporaryDirectory() as work, pypdf.PdfWriter() as book:
        for page in pages:
            book.append(print_page(browser, page.resolve().as_uri(), f"{work}/{page.stem}.pdf"))
        book.write(target)


def describe_pages(data, site, repository):
    """Return what the pages' heads and feet say, by page where they differ."""
    described = {**data["lectures"], **data["problems"]}
    names = {f"{page['folder']}/{name}": page for name, page in described.items()}
    return {
        "site": site, "repository": repository, "author": sentence("site.author"),
        "course_version": version("roofkit"), "date": read_date(ROOT),
        "docstitle": sentence("site.title"),
        "descriptions": {
            **{n: sentence(f"description.{n}") for n in ("index", "model", "chips", "slides")},
            **{name: page["plain"] for name, page in names.items()},
        },
        "sources": {page.removesuffix(".md"): path for path, page in DOCUMENTS.items()},
        "cards": {name: name.partition("/")[2] for name in names if name.startswith("lectures")},
    }  # fmt: skip


def write_cards(into):
    """Draw a card for each lecture, and one for all other pages."""
    into.mkdir()
    name = sentence("site.title")
    for path in find_released_notebooks()[0]:
        page, picture = describe_notebook(path), cards.find_first_picture(nbformat.read(path, 4))
        card = draw_card(page["title"], page["plain"], picture, name)
        (into / f"{path.stem}.png").write_bytes(card)
    asked = sentence("site.question"), sentence("description.index")
    (into / "index.png").write_bytes(draw_card(*asked, cards.TARGET.read_bytes(), name))


def read_date(path):
    """Return the day of the last commit that changed a file, or of the last commit at all."""
    command = ["git", "log", "-1", "--format=%cs", "--", path]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def make_notebook_page(notebook, path, template, data):
    """Return the notebook as text, with links to the site and the template below the title."""
    page = map_files_to_pages()[path.relative_to(ROOT).as_posix()]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = relink_to_site(cell.source, path, page)
    words = TEMPLATES.get_template(template).render(data, name=path.stem)
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell(words, id="downloads"))
    if modules := write_modules(notebook.metadata.pop("live_modules", {})):
        notebook.cells.append(nbformat.v4.new_markdown_cell(modules, id="live-modules"))
    return nbformat.writes(notebook)


def describe_notebook(path):
    """Return a notebook's heading, the paragraph below it, its folder and its last change."""
    source = relink_to_site(nbformat.read(path, as_version=4).cells[0].source, path)
    heading, _, text = source.partition("\n\n")
    return {
        "title": heading.removeprefix("# "), "text": (text := text.partition("\n\n")[0]),
        "plain": re.sub(r"\[([^\]]*)\]\([^)]*\)|[*`$]", r"\1", text).replace("\n", " "),
        "folder": "lectures" if path.parents[1].name == "course" else "problems",
        "date": read_date(path),
    }  # fmt: skip


def read_with_site_links(path):
    """Read a document of the repository, and change its links to the site's."""
    # Doctests need the blank line at the end of a block, readers don't.
    return relink_to_site(path.read_text(encoding="utf-8").replace("\n\n```\n", "\n```\n"), path)
