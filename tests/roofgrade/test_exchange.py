"""On a shared machine: a set goes out, comes back twice, and its feedback returns, by nbgrader."""

import contextlib
import getpass
import os
import shutil
from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

import nbformat
import pytest
from classroom import RIGHT, SET, classroom, grade
from homework import ROOT, ask
from nbgrader.apps import NbGraderApp
from traitlets.config import Application

from roofcheck.handin import exchange, rerun
from roofcheck.handin.hand_in import hand_in_file
from roofcheck.handin.notebook_file import hash_cells
from roofgrade.intake import exchange as collector
from roofgrade.intake.submitted_folders import list_folders, read_submission
from roofgrade.pages import feedback


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A course and a student's folder, with nothing fetched yet, and between them an exchange."""
    home = tmp_path
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(home / "data"))
    course = classroom(home / "instructor")
    exchange, student = home / "exchange", home / "student"
    ask(course.root, "exchange", exchange)
    student.mkdir()
    shared = f"\nc.Exchange.root = {str(exchange)!r}\n"
    with (course.root / "nbgrader_config.py").open("a") as settings:
        settings.write(shared)
    (student / "nbgrader_config.py").write_text(
        f"c = get_config()\nc.CourseDirectory.course_id = 'roofline'{shared}"
    )
    for name in ("JUPYTERHUB_USER", "ROOFLINE_COURSE"):
        monkeypatch.delenv(name, raising=False)
    (student / "course/en").mkdir(parents=True)
    shutil.copy(ROOT / "course/en/index.json", student / "course/en")
    return course, student


def nbgrader(folder, command, *arguments):
    """One command as it is typed in a folder, in this process: most of its time is its imports."""
    with contextlib.chdir(folder):
        try:
            NbGraderApp.launch_instance([command, *arguments])
        finally:
            type(Application.instance()).clear_instance()


@pytest.mark.slow("hand_in() goes through a real exchange of nbgrader, and feedback returns")
def test_hand_in_fetches_submits_and_brings_feedback(machine, monkeypatch):
    course, student = machine
    me = getpass.getuser()
    here = exchange.find_exchange(student)
    assert (here.student, here.course) == (me, "roofline")
    assert here.list_released() == []
    assert here.submission_time(SET) is here.fetch_feedback(SET) is None
    with pytest.raises(exchange.ExchangeError, match=r"reports: .*not found"):
        here.fetch(SET)
    nbgrader(course.root, "release_assignment", SET)
    here = exchange.find_exchange(student)
    assert here.list_released() == [SET]
    notebook = here.fetch(SET)
    assert notebook == student / f"exercises/en/{SET}/{SET}.ipynb"
    assert notebook.read_bytes() == course.release_path(SET).read_bytes()

    # Its own run is what tests of hand_in are about.
    monkeypatch.setattr(
        rerun, "rerun_notebook", lambda *given: rerun.RerunResult(me="another user")
    )
    write_paragraph(notebook, "My paragraph.")
    (notebook.parent / "notes.csv").write_text("1")
    stopped = hand_in_file(notebook, SET)
    assert stopped.state == "stopped"
    assert f"you are handing in as {me}" in str(stopped)
    renamed = notebook.rename(notebook.with_name("my set.ipynb"))
    report = hand_in_file(renamed, SET, unfinished=True)
    assert (report.state, report.id) == ("submitted", me)
    assert hash_cells(renamed.read_bytes()) in str(report)
    assert not (student / "handed-in").exists()
    inbound = student.parent / "exchange/roofline/inbound"
    assert {folder.stat().st_mode & 0o777 for folder in inbound.iterdir()} == {0o755}
    nbgrader(course.root, "collect", SET)
    collected = course.submitted / me / SET
    assert (collected / f"{SET}.ipynb").read_bytes() == renamed.read_bytes()
    assert (collected / "notes.csv").read_text() == "1"
    same = hand_in_file(renamed, SET, unfinished=True)
    assert (same.state, same.time) == ("same", report.time)

    # What is fetched again, and feedback, leave the student's work as it is.
    mine = renamed.read_bytes()
    write_paragraph(here.fetch(SET), "I began anew.")
    begun = notebook.read_bytes()
    made = grade(course, me, RIGHT)
    for name in feedback.EXCHANGE_FILES:
        shutil.copy(collected / name, made.parent)
    [page] = feedback.write_pages(course, SET)
    assert hash_cells(mine) in page.path.read_text(encoding="utf-8")
    nbgrader(course.root, "release_feedback", SET)
    here = exchange.find_exchange(student)
    assert here.submission_time(SET) == report.time
    assert here.fetch_feedback(SET).read_bytes() == page.path.read_bytes()
    assert here.fetch(SET) == notebook
    assert (notebook.read_bytes(), renamed.read_bytes()) == (begun, mine)

    # Nothing is handed in, and the student is told, where the exchange is closed.
    inbound.rename(inbound.with_name("closed"))
    write_paragraph(renamed, "Too late.")
    failed = hand_in_file(renamed, SET, unfinished=True)
    assert failed.state == "stopped"
    assert "Inbound directory doesn't exist" in str(failed)


def write_paragraph(notebook, text):
    nb = nbformat.read(notebook, as_version=4)
    next(cell for cell in nb.cells if cell.id == f"{SET}-paragraph").source = text
    nbformat.write(nb, notebook)


def test_without_a_folder_or_settings_there_is_no_exchange(machine, tmp_path):
    course, student = machine
    assert exchange.find_exchange(student) is not None
    shutil.rmtree(student.parent / "exchange")
    assert exchange.find_exchange(student) is exchange.find_exchange(course.root) is None
    assert exchange.find_exchange(tmp_path) is None


def test_the_exchange_is_made_so_that_nobody_takes_it_over(machine):
    course, student = machine
    exchange = student.parent / "exchange"
    made = [exchange, exchange / "roofline", *sorted((exchange / "roofline").iterdir())]
    modes = [path.stat().st_mode & 0o7777 for path in made]
    assert modes == [0o1777, 0o755, 0o711, 0o3733, 0o755]
    assert {path.stat().st_uid for path in made} == {os.geteuid()}
    (exchange / "roofline").rename(exchange / "stolen")
    (exchange / "roofline").symlink_to(exchange / "stolen")
    said = ask(course.root, "exchange", exchange, code=1).output
    assert "roofline belongs to another account" in said


def put(student, name, source=None):
    """What stands in the exchange under a name: the set as released, or a link."""
    folder = student.parent / "exchange/roofline/inbound" / name
    folder.mkdir()
    if source:
        (folder / f"{SET}.ipynb").symlink_to(source)
    else:
        shutil.copy(ROOT / f"exercises/en/{SET}/{SET}.ipynb", folder)
    return folder


@pytest.mark.slow("nobody hands in a solution or another's work, and late work looks late")
def test_links_and_other_accounts_are_left_and_late_work_is_late(machine, capfd, monkeypatch):
    course, student = machine
    me, now = getpass.getuser(), datetime.now(UTC)
    put(student, f"{me}+{SET}+{now:%Y-%m-%d %H:%M:%S} UTC+honest")
    put(student, f"{me}+{SET}+2999-01-01 00:00:00 UTC+x", course.source_path(SET))
    put(student, f"bob+{SET}+2999-01-01 00:00:00 UTC+x")
    put(student, f"{me}+{SET}+9999999-01-01 UTC+x")
    nbgrader(course.root, "collect", SET)
    said = capfd.readouterr().err
    assert said.count("was not collected") == 3
    assert f"created by the account {me}" in said
    [folder] = list_folders(course, SET)
    honest = read_submission(folder)
    assert (folder.student, honest.remarks) == (me, ())
    assert honest.submitted == f"{now:%Y-%m-%d %H:%M:%S} UTC"

    # However many folders one account has, few of them are read.
    for number in range(30):
        put(student, f"{me}+{SET}+2025-01-01 10:00:00 UTC+{number}")
    monkeypatch.setattr(collector, "read_files", read := Mock(wraps=collector.read_files))
    nbgrader(course.root, "collect", SET, "--update")
    assert 1 <= read.call_count <= collector.MOST_TRIES + 1

    shutil.rmtree(course.submitted)
    shutil.rmtree(student.parent / "exchange/roofline/inbound")
    ask(course.root, "exchange", student.parent / "exchange")
    put(student, f"{me}+{SET}+2026-01-01 10:00:00 UTC+x")
    for _ in range(2):
        nbgrader(course.root, "collect", SET, "--update")
        late = read_submission(folder)
        changed = datetime.fromisoformat(late.submitted.removesuffix(" UTC")).replace(tzinfo=UTC)
        assert abs(now - changed) < timedelta(minutes=10)
        [remark] = late.remarks
        assert "handed in as of 2026-01-01 10:00 UTC" in remark
        assert late.files == {}
