"""Build the course's site: pages that work as local files or on any server.

    python -m tools.site        -> build/site/index.html

The site includes the decks and the kit if they are built (`make slides`, `make self-study`).
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from jinja2 import Environment, FileSystemLoader, StrictUndefined

import roofkit as rk
from roofcheck import course
from roofkit._units import format_quantity
from rooflab import explore
from rooflab.explore.pages import write_modules
from rooflab.palette import fill_colours
from tools.notebooks.build import write_if_changed
from tools.notebooks.kept_runs import run_for_page
from tools.sentences import sentence
from tools.site import downloads, folding
from tools.site.links import DOCUMENTS, find_released_notebooks, map_files_to_pages, relink_to_site
from tools.site.standalone import NEEDS, prepare_download
from tools.slides.talks import read_talk_file

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build"

TEMPLATES = Environment(
    loader=FileSystemLoader(HERE / "pages"),
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
)


def main(argv=None):
    """Build the site and return the exit status."""
    kit = max(BUILD.glob("roofline-self-study-*.zip"), default=None)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--into", type=Path, default=BUILD / "site", help="folder for the site")
    parser.add_argument("--slides", type=Path, default=BUILD / "slides", help="folder of the decks")
    parser.add_argument("--kit", type=Path, default=kit, help="the students' archive")
    parser.add_argument("--address", help="the site's URL, if course/term.toml doesn't have it")
    args = parser.parse_args(argv)
    site = (args.address or course.find_course(ROOT).term.site).rstrip("/")
    with tempfile.TemporaryDirectory() as work:
        pages, files = (Path(work, name) for name in ("pages", "files"))
        wheels = write_files(Path(work), files, args.kit, site)
        decks = downloads.copy_decks(args.slides, files / "slides")
        write_pages(pages, decks, args.kit, "" if site else wheels)
        command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
        for key in ("project", "html_title"):
            command += ["-D", f"{key}={sentence('site.title')}"]
        folders = ["-c", work, "-d", f"{work}/doctrees", pages, f"{work}/site"]
        if status := subprocess.run([*command, *folders]).returncode:
            return status
        shutil.rmtree(args.into, ignore_errors=True)
        unused = shutil.ignore_patterns(".buildinfo", "*.map")
        shutil.copytree(f"{work}/site", args.into, ignore=unused)
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
    """Write the pages for Sphinx. ``beside`` lists files to download along with a notebook."""
    lectures, problems = find_released_notebooks()
    data = {
        "readme": split_by_heading(ROOT / "README.md"),
        **{Path(page).stem: read_with_site_links(ROOT / name) for name, page in DOCUMENTS.items()},
        "ridge": explore.write_html(explore.ridge(), " data-address"),
        "lectures": {path.stem: read_title_and_summary(path) for path in lectures},
        "problems": {path.stem: read_title_and_summary(path) for path in problems},
        "chips": [describe_chip(chip) for chip in rk.chips()],
        "explorer": explore.write_html(explore.model(), " data-address"),
        "left_out": list(explore.model().reasons_left_out.values()),
        "decks": decks,
        "talks": {path.stem: read_talk_file(path) for path in ROOT.glob("course/talk*.toml")},
        "kit": kit,
        "beside": beside,
    }
    for path in (HERE / "pages").rglob("[!_]*.md"):
        name = path.relative_to(HERE / "pages")
        if decks or name.stem != "slides":
            write_if_changed(pages / name, TEMPLATES.get_template(name.as_posix()).render(data))
    shutil.copy(ROOT / "course/ridge.png", pages)
    with ThreadPoolExecutor(2) as pool:
        for path, notebook in zip(lectures, pool.map(run_for_page, lectures), strict=True):
            folding.fold_cells(notebook)
            page = make_notebook_page(notebook, path, "_lecture.md", data)
            write_if_changed(pages / "lectures" / path.name, page)
    for path in problems:
        notebook = nbformat.read(path, as_version=4)
        # Pages need no packages.
        notebook.cells[0].source = NEEDS.sub("", notebook.cells[0].source)
        page = make_notebook_page(notebook, path, "_problems.md", data)
        write_if_changed(pages / "problems" / path.name, page)


def describe_chip(chip):
    """Return a chip's row of the chip table, and all its figures with their sources."""
    figures = [
        (name, format_quantity(float(figure), figure.unit), explain_figure(figure), figure.source)
        for name, figure in chip.list_figures()
    ]
    (name, sku), *cells = rk.chips().format_row(chip)
    return {"name": name, "sku": sku, "cells": [text for text, _ in cells], "figures": figures}


def explain_figure(figure):
    unconfirmed = "" if figure.confirmed else sentence("chips.unconfirmed")
    return "; ".join(filter(None, (figure.kind, figure.note, unconfirmed)))


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


def read_title_and_summary(path):
    """Return a notebook's heading and the paragraph below it."""
    source = relink_to_site(nbformat.read(path, as_version=4).cells[0].source, path)
    heading, _, text = source.partition("\n\n")
    return {"title": heading.removeprefix("# "), "text": text.partition("\n\n")[0]}


def read_with_site_links(path):
    """Read a document of the repository, and change its links to the site's."""
    # Doctests need the blank line at the end of a block, readers don't.
    return relink_to_site(path.read_text(encoding="utf-8").replace("\n\n```\n", "\n```\n"), path)


def split_by_heading(path):
    """Split a document at its second-level headings, and return the parts by heading."""
    opening, *rest = re.split(r"^(?=## )", read_with_site_links(path), flags=re.M)
    return {"": opening} | {part.split("\n", 1)[0].removeprefix("## "): part for part in rest}
