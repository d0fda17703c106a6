"""The home page's data, how far a student is, and the server that gives them: no browser."""

import asyncio
import contextlib
import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from jupyter_server.services.kernels.websocket import KernelWebsocketHandler
from tornado.websocket import WebSocketClosedError

from roofcheck import course
from roofcheck.home import log_filter, set_status
from roofcheck.home.page_data import PAGES_VARIABLE, Home
from roofcheck.home.set_status import Status, list_actions, word_status
from roofcheck.sentences import sentence
from roofcheck.study import answers, course_progress
from roofcheck.study.answers import KeptAnswer

ROOT = Path(__file__).resolve().parents[2]
COURSE = course.Course(ROOT)
L01, PS1 = COURSE.lectures[0], COURSE.set("ps1")
DAY = datetime(2026, 11, 20, 12).astimezone()


def given(*credits, questions=L01.asks, again=0):
    """Answers to the first questions of a lecture, a minute apart."""
    return [
        KeptAnswer(DAY + timedelta(minutes=number), question, credit, "1", again=again)
        for number, (question, credit) in enumerate(zip(questions, credits, strict=False))
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A course of its own: the first lecture, two sets, no answers yet."""
    (tmp_path / "course/en").mkdir(parents=True)
    for name in (str(course.INDEX), L01.file):
        shutil.copy(ROOT / name, tmp_path / name)
    for each in COURSE.sets[:2]:
        (tmp_path / each.file).parent.mkdir(parents=True)
        shutil.copy(ROOT / each.file, tmp_path / each.file)
    (tmp_path / "course/answers.json").write_text("{}", encoding="utf-8")
    monkeypatch.setenv(answers.FILE_VARIABLE, str(tmp_path / "kept/answers.jsonl"))
    monkeypatch.delenv(PAGES_VARIABLE, raising=False)
    return tmp_path


def keep(folder, found):
    """Write answers down as a check does."""
    file = folder / "kept/answers.jsonl"
    file.parent.mkdir(exist_ok=True)
    lines = [{**vars(each), "time": f"{each.time}"} for each in found]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def test_the_latest_answer_in_a_notebook_counts():
    latest = course_progress.latest_answers([*given(0, 1, 0.5), *given(1), *given(0, 0, again=1)])
    found = course_progress.measure_lecture(L01, latest)
    assert found.marks[:4] == ("right", "right", "missed", "open")
    counts = (found.answered_count, found.right_count, found.missed_count, len(found.marks))
    assert counts == (3, 2, 1, len(L01.asks))


def test_a_set_has_points_and_its_paragraph_is_not_counted():
    first, second, *_ = asked = [each for each in PS1.questions if not each.paragraph]
    latest = course_progress.latest_answers(given(1, 0.5, questions=[first.id, second.id]))
    found = course_progress.measure_set(PS1, latest)
    assert found.earned == first.points + second.points / 2
    assert found.points == sum(each.points for each in asked) < PS1.points


def test_the_last_place_is_the_cell_of_the_last_answer(folder):
    here = course.Course(folder)
    found = course_progress.find_last_place(here, course_progress.latest_answers(given(1, 0)))
    notebook = json.loads((folder / L01.file).read_text(encoding="utf-8"))
    source = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
    assert found.part == L01
    assert f'check("{L01.asks[1]}"' in source[found.cell]
    (folder / L01.file).write_text("{", encoding="utf-8")
    latest = course_progress.latest_answers(given(1))
    assert course_progress.find_last_place(here, latest).cell == ""
    assert course_progress.find_last_place(here, {}) is None


def test_the_page_says_where_one_is(folder):
    home = Home(folder)
    begin = home.page_data()
    assert (begin["notes"], begin["ask_class"]) == ([], True)
    assert begin["go_on"]["path"] == L01.file
    assert "lecture 1" in begin["go_on"]["said"]
    more = f"Deeper: 0 of {len(L01.deeper_asks)} questions answered."
    assert begin["lectures"][0]["standing"] == f"{len(L01.asks)} questions. {more}"
    assert [each["id"] for each in begin["lectures"]] == [each.id for each in COURSE.lectures]
    renamed = (folder / COURSE.sets[1].file).rename(folder / "exercises/en/ps2/mine.ipynb")
    begin = home.page_data()
    assert [bool(each["path"]) for each in begin["sets"]] == [
        True,
        True,
        *[False] * (len(COURSE.sets) - 2),
    ]
    assert begin["sets"][1]["path"].endswith(renamed.name)
    keep(folder, given(1, 0))
    after = home.page_data(ask_class=True)
    assert "in this folder" in after["sets"][2]["said"][0]
    assert after["go_on"]["cell"]
    assert (
        after["lectures"][0]["standing"]
        == f"2 of {len(L01.asks)} answered, 1 right, 1 wrong. {more}"
    )
    assert after["review"]["count"] == 1
    assert not after["ask_class"]
    assert json.loads(json.dumps(after)) == after


def test_what_is_due_and_handed_in_stands_there(folder):
    soon = datetime.now().astimezone() + timedelta(days=2, hours=1)
    term = folder / course.TERM
    term.write_text(f"due.ps1 = {soon.isoformat(timespec='seconds')}\n")
    home = Home(folder)
    assert home.page_data()["due"][0].endswith("2 days left.")
    (folder / "handed-in").mkdir()
    shutil.copy(folder / PS1.file, folder / "handed-in/ps1-ada.ipynb")
    data = home.page_data()
    assert data["due"] == []
    assert "the hand-in file" in data["sets"][0]["said"][1]
    term.write_text("due.ps1 = 'soon'")
    assert "without quotes" in home.page_data()["notes"][0]


@pytest.mark.parametrize(("file", "told_"), [
    ("", "ROOFKIT_ANSWERS is empty"),
    ("{folder}/course/en/index.json/answers.jsonl", "is a file, not a folder"),
    ("{folder}/course", "is a folder"),
])  # fmt: skip
def test_what_is_not_kept_is_said(folder, monkeypatch, file, told_):
    monkeypatch.setenv(answers.FILE_VARIABLE, file.format(folder=folder))
    data = Home(folder).page_data()
    assert told_ in " ".join(data["notes"])
    assert len(data["lectures"]) == len(COURSE.lectures)


def test_a_damaged_file_of_answers_counts_as_far_as_it_can_be_read(folder):
    with keep(folder, given(1)).open("ab") as out:
        out.write(b'{"time": 3}\n\xff\xfe\n')
    data = Home(folder).page_data()
    assert "2 lines" in data["notes"][0]
    assert data["lectures"][0]["marks"][0] == "right"


def test_a_folder_without_a_course_has_no_home(tmp_path, monkeypatch):
    monkeypatch.delenv(course.COURSE_VARIABLE, raising=False)
    home = Home(tmp_path)
    assert home.startup_data() is None
    assert "There's no course" in home.page_data()["notes"][0]
    (tmp_path / "course/en").mkdir(parents=True)
    (tmp_path / course.INDEX).write_text("[")
    assert home.startup_data()["sets"] == {}
    assert "table of contents" in home.page_data()["notes"][0]
    monkeypatch.setenv(course.COURSE_VARIABLE, str(tmp_path / "nowhere"))
    assert "nowhere" in home.page_data()["notes"][0]


def test_a_course_elsewhere_is_served_under_the_servers_names(folder, monkeypatch, tmp_path):
    """As with `make lab`, which serves a folder of links."""
    served = tmp_path / "served"
    (served / "course").mkdir(parents=True)
    (served / "course/en").symlink_to(folder / "course/en")
    monkeypatch.setenv(course.COURSE_VARIABLE, str(folder))
    home = Home(served)
    assert home.served_path(L01.file) == L01.file
    assert home.served_path(PS1.file) == ""
    assert Home(folder.parent).served_path(L01.file) == f"{folder.name}/{L01.file}"


def test_an_installation_brings_what_jupyterlab_loads():
    settings = tomllib.loads((ROOT / "roofcheck/pyproject.toml").read_text(encoding="utf-8"))
    brought = {}
    for folder, patterns in settings["tool"]["setuptools"]["data-files"].items():
        for pattern in patterns:
            found = list((ROOT / "roofcheck").glob(pattern))
            assert found, pattern
            brought |= {f"{folder}/{file.name}": file for file in found}
    extension = "share/jupyter/labextensions/roofcheck"
    package = json.loads(brought[f"{extension}/package.json"].read_text(encoding="utf-8"))
    assert f"{extension}/{package['jupyterlab']['_build']['load']}" in brought
    assert f"{extension}/install.json" in brought
    assert package["version"] == settings["project"]["version"]
    enabled = brought["etc/jupyter/jupyter_server_config.d/roofcheck.json"]
    assert "roofcheck.home" in enabled.read_text(encoding="utf-8")


LATER, BEFORE = DAY + timedelta(days=36500), DAY - timedelta(days=1)


@pytest.mark.parametrize(("status", "is_here", "due", "wanted"), [
    (Status(), False, None, []),
    (Status(released=True), False, None, ["fetch"]),
    (Status(released=True), True, None, ["hand-in", "give-up"]),
    (Status(handed_in=DAY), True, LATER, ["hand-in"]),
    (Status(handed_in=DAY, feedback=True), True, BEFORE, ["hand-in", "feedback", "give-up"]),
])  # fmt: skip
def test_the_buttons_of_a_set_follow_its_state(folder, status, is_here, due, wanted):
    here = course.Course(folder)
    stands = course_progress.measure_set(
        PS1, {PS1.questions[0].id: given(1, questions=["ps1.ridge"])[0]}
    )
    found = list_actions(here, PS1, status, is_here, stands, due)
    assert [each["do"] for each in found] == wanted
    (folder / "course/answers.json").unlink()  # as in a class
    in_class = list_actions(here, PS1, status, is_here, stands, due)
    assert [each["do"] for each in in_class] == [do for do in wanted if do != "give-up"]
    assert all("1" in each["name"] for each in found)
    said = " ".join(word_status(status, is_here, due, has_class=True))
    assert ("Fetch it" in said) == ("fetch" in wanted)
    assert ("handed it in" in said) == bool(status and status.handed_in)


def test_only_what_was_fetched_is_asked_about(folder):
    asked = []
    place = SimpleNamespace(
        list_released=lambda: ["ps1", "ps3"],
        submission_time=lambda name: asked.append(name) or {"ps1": DAY}.get(name),
        fetch_feedback=lambda name: Path("feedback.html"),
    )
    found = set_status.ask_exchange(place, course.Course(folder))
    assert asked == ["ps1", "ps2"]
    assert found["ps1"] == Status(True, DAY, True)
    assert found["ps3"] == Status(released=True)


def test_pages_come_from_the_environment_and_the_term(folder, monkeypatch):
    monkeypatch.setenv(PAGES_VARIABLE, '[{"text": "Slides", "url": "static/01.html"}]')
    (folder / course.TERM).write_text('site = "https://example.org/"')
    found = [each["url"] for each in Home(folder).page_data()["pages"]]
    assert found == ["static/01.html", "https://example.org/"]
    monkeypatch.setenv(PAGES_VARIABLE, "[{")
    assert Home(folder).startup_data()["pages"] == []


def test_pages_that_close_leave_nothing_in_the_terminal(caplog, monkeypatch):
    server, web, asynchronous = map(logging.getLogger, ("s", "tornado.application", "asyncio"))
    for log in (web, asynchronous):
        monkeypatch.setattr(log, "filters", [])
    log_filter.silence_closed_pages(server)

    async def fail(error):
        raise error

    async def leave_tasks():
        errors = (WebSocketClosedError(), OSError("disk full"))
        await asyncio.wait([asyncio.create_task(fail(error)) for error in errors])

    asyncio.run(leave_tasks())
    server.warning(str(WebSocketClosedError()))
    try:
        KernelWebsocketHandler.select_subprotocol(SimpleNamespace(connection=None), [])
    except AttributeError:
        web.error("Uncaught exception", exc_info=True)
    assert [str(record.exc_info[1]) for record in caplog.records] == ["disk full"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A Jupyter server over a course of its own, with its token; gives a function that asks it."""
    place = tmp_path_factory.mktemp("server")
    (place / "course/en").mkdir(parents=True)
    shutil.copy(ROOT / course.INDEX, place / course.INDEX)
    (place / PS1.file).parent.mkdir(parents=True)
    shutil.copy(ROOT / PS1.file, place / PS1.file)
    (place / "course/answers.json").write_text("{}", encoding="utf-8")
    kept = keep(place, given(1, 0))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {
        answers.FILE_VARIABLE: str(kept), "JUPYTER_CONFIG_DIR": str(place / "config"),
        "JUPYTER_RUNTIME_DIR": str(place / "runtime"), "HOME": str(place), "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    # No other extension is looked for: they take seconds.
    alone = "from jupyter_server.serverapp import ServerApp\n"
    alone += "app = ServerApp()\napp.initialize(find_extensions=False)\napp.start()"
    command = [
        sys.executable, "-c", alone, "--no-browser", "--allow-root",
        f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={place}",
        "--ServerApp.jpserver_extensions={'roofcheck.home': True}", "--IdentityProvider.token=t",
    ]  # fmt: skip
    running = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)

    def ask(path, body=None, token="t"):
        url = f"http://127.0.0.1:{port}/roofline/{path}"
        headers = {"Authorization": f"token {token}"} if token else {}
        data = body if isinstance(body, bytes) else body and json.dumps(body).encode()
        request = urllib.request.Request(url, data, headers)
        try:
            with urllib.request.urlopen(request) as reply:
                return reply.status, reply.headers, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    try:
        while running.poll() is None:
            with contextlib.suppress(OSError):
                ask("static/index.js")
                break
            time.sleep(0.1)
        assert running.poll() is None, "the server did not start"
        yield ask
    finally:
        running.terminate()
        running.wait()


def test_the_server_gives_the_page_to_who_may_see_it(server):
    status, _, text = server("home")
    assert status == 200
    assert json.loads(text)["lectures"][0]["marks"][:2] == ["right", "missed"]
    asked = [(path, None) for path in ("home", "review", "answers/ps1")]
    asked += [(path, {"name": "ps1"}) for path in ("review", "hand-in", "fetch", "give-up")]
    for path, body in asked:
        status, _, text = server(path, body, token="")
        assert status == 403 or "password" in text  # the login's page, to which it leads
    status, headers, _ = server("static/home.js")
    assert (status, headers["Cache-Control"]) == (200, "no-cache")


def test_review_asks_and_judges(server):
    def answer(text):
        return json.loads(server("review", {"question": L01.asks[1], "answer": text})[2])

    assert json.loads(server("review")[2])["question"] == L01.asks[1]
    assert "Skipped" in json.loads(server(f"review?skip={L01.asks[1]}")[2])["said"]
    assert not answer("")["counts"]
    judged = answer("1e30")
    assert judged["counts"]
    assert "Not yet" in judged["html"]
    assert "no longer due" in answer("1")["said"]
    assert server("review", {})[0] == 400


def test_giving_up_shows_the_answers_on_a_page_that_runs_nothing(server):
    assert server("answers/ps1")[0] == 404
    assert server("answers/ps99")[0] == 404
    assert server("give-up", {"name": "ps1"})[0] == 200
    status, headers, text = server("answers/ps1")
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script" not in policy
    assert "A specification" in text


def test_without_a_class_nothing_is_fetched(server):
    status, _, text = server("fetch", {"name": "ps1"})
    assert (status, json.loads(text)["message"]) == (422, sentence("home.no-class"))
    assert server("feedback/ps1")[0] == 404


@pytest.mark.slow("handing in from the page does what hand_in() does")
def test_handing_in_reports_what_is_unanswered(server):
    status, _, text = server("hand-in", {"name": "ps1"})
    report = json.loads(text)
    assert status == 200, report
    assert (report["state"], report["can_go_on"]) == ("stopped", True)
    assert "A specification" in report["html"]
    assert json.loads(server("hand-in", {"name": "ps99"})[2])["message"].startswith("There's no")
    outside = {"name": "ps1", "path": "../../ps1.ipynb"}
    assert "is outside" in json.loads(server("hand-in", outside)[2])["message"]
    assert server("hand-in", b'{"name": "\xff"}')[0] == 400
