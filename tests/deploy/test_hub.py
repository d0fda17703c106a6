"""A class on one machine: the real hub, its proxy, accounts of the system, and real browsers."""

import contextlib
import csv
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import MagicMock

import nbformat
import pytest
from chromium import NoBrowserError, find_chromium
from traitlets.config import Config

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/browser"), str(ROOT / "tests/deploy")]
import driver  # noqa: E402
from box import CLONE, DATA, PREFIX, Hub  # noqa: E402

WEEKLY = pytest.mark.weekly("a class can work on a hub, and nobody reads what is another's")
STUDENTS = ("ada", "bob", "cyd")
SET = "ps1"
LECTURE = "course/en/01-where-does-the-time-go.ipynb"
# What stands in the place of a few answers; all others are left out.
WRONG = {"ps1-ridge": "ridge = 309.7e12 / 768e9"}
PARAGRAPH = "The share of peak says nothing; intensity and ridge do."


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("a hub of its own needs Linux and root, for accounts and mounts")
    needed = ("unshare", "nsenter", "setpriv", "bwrap", "git")
    lacking = [name for name in needed if not shutil.which(name)]
    system = subprocess.run(
        ["/bin/sh", "-c", "/usr/bin/python3 -c 'import ensurepip'"], check=False
    )
    if lacking or system.returncode:
        pytest.skip(
            f"install {', '.join([*lacking, 'python3-venv'])} of Debian or Ubuntu for a hub"
        )
    made = Hub(tmp_path_factory.mktemp("hub"), STUDENTS)
    made.box.run("bash", "-ec", """mkdir .jupyter static; touch static/mine.html
        echo "c.ServerApp.extra_static_paths = ['$HOME/static']" > .jupyter/jupyter_server_config.py
    """, user="cyd")  # fmt: skip
    yield made
    made.close()


@pytest.fixture(scope="module")
def labs(hub):
    """Everybody's JupyterLab in a browser of their own, signed in, by name."""
    try:
        found = find_chromium()
    except NoBrowserError as error:
        pytest.skip(str(error))
    with driver.chromium(found) as browser, contextlib.ExitStack() as stack:
        pages = {}

        def open_labs(*names):
            """Let people sign in, whose servers start side by side."""
            for name in names:
                context = driver.new_context(browser, viewport={"width": 1280, "height": 900})
                pages[name] = stack.enter_context(context).new_page()
                sign_in(pages[name], hub, name)
            for name in names:
                pages[name].wait_for_function(
                    "() => window.jupyterapp?.commands.hasCommand('roofline:home')"
                )
                pages[name].evaluate("() => window.jupyterapp.restored.then(() => true)")

        open_labs(hub.teacher)
        # A home that was opened before would know of the set a minute later.
        typed(pages[hub.teacher], "cd teaching", f"nbgrader release_assignment {SET}")
        open_labs(*STUDENTS)
        yield pages


def sign_in(page, hub, name, password=None):
    page.goto(f"{hub.url}hub/login")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password or hub.passwords[name])
    page.get_by_role("button", name="Sign in").click(no_wait_after=True)


def typed(page, *lines):
    """What a terminal of JupyterLab prints for lines of commands that have to succeed."""
    return page.evaluate(
        """async (lines) => {
          const terminal = await window.jupyterapp.serviceManager.terminals.startNew();
          let said = "";
          const done = new Promise((resolve) => terminal.messageReceived.connect((_, message) => {
            if (message.type !== "stdout") return;
            said += message.content[0];
            if (/ended with \\d+/.test(said)) resolve();
          }));
          const line = `${lines.join(" && ")}; echo ended "with $?"\\r`;
          terminal.send({ type: "stdin", content: [line] });
          await done;
          await terminal.shutdown();
          if (!said.includes("ended with 0")) throw new Error(said);
          return said;
        }""",
        list(lines),
    )


def fill(page, answers):
    """Write answers into the cells of the open notebook, by their names, and run all of it."""
    page.evaluate(
        """async (answers) => {
          const panel = window.jupyterapp.shell.currentWidget;
          await panel.context.ready;
          for (const cell of panel.content.model.cells) {
            const name = cell.getMetadata("nbgrader")?.grade_id;
            if (name in answers) cell.sharedModel.setSource(answers[name]);
          }
        }""",
        answers,
    )


def model_answers():
    """The teacher's own answers to the set, by the names of their cells."""
    begin, end = "### BEGIN SOLUTION", "### END SOLUTION"
    found = {}
    for cell in nbformat.read(ROOT / f"solutions/en/{SET}/{SET}.ipynb", as_version=4).cells:
        if cell.metadata.get("nbgrader", {}).get("solution") and cell.cell_type == "code":
            lines = [line for line in cell.source.splitlines() if line.strip() not in (begin, end)]
            found[cell.metadata.nbgrader.grade_id] = "\n".join(lines)
    return found


def home(page):
    """The course's home, up to date with the class."""
    page.evaluate("() => window.jupyterapp.commands.execute('roofline:home').then(() => true)")
    page.locator(".roofline-home .roofline-status:text-is('')").wait_for(state="attached")
    return page.locator(".roofline-home")


def first_code(page):
    """Where the first cell with code stands in the open notebook."""
    return page.evaluate(
        """() => window.jupyterapp.shell.currentWidget.content.widgets
          .findIndex((cell) => cell.model.type === "code")"""
    )


def points(hub, page):
    """Everybody's points so far, as the teacher exports them."""
    typed(
        page, "cd teaching", f"python -m roofgrade export {SET} --for plain --provisional > p.csv"
    )
    text = hub.box.run("cat", f"/home/{hub.teacher}/roofline/teaching/p.csv").stdout
    rows = csv.DictReader(text.splitlines())
    return {row["student"]: float(row["grade"]) for row in rows}


def read_paragraphs(hub, page, given):
    """Mark each paragraph in Formgrader."""
    reader = page.context.new_page()
    grader = f"{hub.server(hub.teacher)}formgrader"
    reader.goto(f"{grader}/gradebook/{SET}/{SET}")
    links = reader.locator("a[href*='/formgrader/submissions/']")
    links.first.wait_for()
    books = {link.get_attribute("href").partition("submissions/")[2].split("/")[0].split("?")[0]
             for link in links.all()}  # fmt: skip
    for book in sorted(books):
        address = f"{grader}/api/grades?submission_id={book}"
        if not any(one["needs_manual_grade"] for one in fetched(reader, address)):
            continue  # nothing was written there
        reader.goto(f"{grader}/submissions/{book}/?index=0")
        reader.wait_for_function(
            "() => formgrader.loaded && formgrader.grades.loaded && formgrader.comments.loaded"
        )
        field = reader.locator(f"#{SET}-paragraph")
        field.fill(str(given))
        field.press("Tab")
        driver.screenshot(reader, "hub-formgrader")

        def scores(address=address):
            return [one["manual_score"] for one in fetched(reader, address)]

        driver.until(reader, scores, lambda found: given in found)
    reader.close()


def feedback_link(hub, page, name):
    """The home page's link to the feedback, once it knows of it."""
    link = home(page).locator(f'[data-key="feedback-{SET}"]')
    # By itself the page asks the class at most once a minute.
    fetched(page, f"{hub.server(name)}roofline/home?ask_class=1")
    page.evaluate("() => window.dispatchEvent(new Event('focus'))")
    link.wait_for()
    return link


def fetched(page, address):
    """What an address of the page's own server answers."""
    return page.evaluate(
        """async (address) => {
          const [, token] = document.cookie.match(/\\b_xsrf=([^;]*)/);
          const answer = await fetch(address, { headers: { "X-XSRFToken": token } });
          if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
          return answer.json();
        }""",
        address,
    )


def open_by(button, page, path):
    button.click()
    page.wait_for_function(
        "path => window.jupyterapp.shell.currentWidget?.context?.path === path", arg=path
    )
    page.wait_for_selector(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell")
    page.evaluate(
        """async () => {
          const panel = window.jupyterapp.shell.currentWidget;
          await panel.context.ready;
          await panel.sessionContext.ready;
          await panel.sessionContext.session.kernel.info;
        }"""
    )


def hand_in(page, all_the_same):
    """Press the button of the set, and go on where it asks; what it says in the end."""
    home(page).locator(f'[data-key="hand-in-{SET}"]').click()
    said = page.locator(".jp-Dialog .roofline-report")
    said.wait_for()
    if all_the_same:
        first = said.inner_text()
        page.locator(".jp-Dialog .jp-mod-warn").click()
        driver.until(page, lambda: said.inner_text() if said.count() else first, first.__ne__)
    text = said.inner_text()
    page.locator(".jp-Dialog-button").last.click()
    said.wait_for(state="detached")
    return text


@WEEKLY
def test_a_term_from_signing_in_to_feedback_with_answers(hub, labs):
    teacher = labs[hub.teacher]
    right = model_answers()
    handed = {
        "ada": right | {"ps1-me": 'me = "ada"', "ps1-paragraph": PARAGRAPH},
        "bob": right | {"ps1-me": 'me = "bob"', "ps1-paragraph": PARAGRAPH} | WRONG,
        "cyd": {name: right[name] for name in ("ps1-ridge", "ps1-time")} | {"ps1-me": 'me = "cyd"'},
    }
    for name, answers in handed.items():
        page = labs[name]
        open_by(home(page).locator('[data-key="open-l01"]'), page, LECTURE)
        assert driver.run_cell(page, first_code(page)) is not None
        place = f"exercises/en/{SET}/{SET}.ipynb"
        open_by(home(page).locator(f'[data-key="fetch-{SET}"]'), page, place)
        fill(page, answers)
        driver.screenshot(page, f"hub-{name}")
        said = hand_in(page, all_the_same=name == "cyd")
        assert name in said
    said = typed(
        teacher, "cd teaching", f"nbgrader collect {SET} --update", f"python -m roofgrade {SET}",
        f"python -m roofgrade table {SET} --all",
    )  # fmt: skip
    assert all(name in said for name in STUDENTS)
    assert points(hub, teacher) == {"ada": 22, "bob": 21, "cyd": 4}
    read_paragraphs(hub, teacher, 3)
    typed(
        teacher, "cd teaching", f"python -m roofgrade answers {SET} --yes",
        f"python -m roofgrade feedback {SET}", f"nbgrader release_feedback {SET}",
    )  # fmt: skip
    assert points(hub, teacher) == {"ada": 25, "bob": 24, "cyd": 4}
    for name in STUDENTS:
        with labs[name].expect_popup() as opened:
            feedback_link(hub, labs[name], name).click()
        page = opened.value
        page.wait_for_load_state()
        driver.screenshot(page, f"hub-feedback-{name}")
        assert name in page.content()
        page.close()


@pytest.fixture
def bobs(hub, labs):
    """The address of Bob's server at its own port; a kernel of his runs there."""
    labs["bob"].evaluate(
        """async () => {
          const { sessions } = window.jupyterapp.serviceManager;
          const [name, path, type] = ["secret", "secret.ipynb", "notebook"];
          const kernel = { name: "python3" };
          const session = await sessions.startNew({ name, path, type, kernel });
          await session.kernel.info;
        }"""
    )
    typed(labs["bob"], "echo $JUPYTERHUB_SERVICE_URL > address.txt")
    return hub.box.run("cat", "/home/bob/roofline/address.txt").stdout.strip()


@WEEKLY
def test_no_student_reads_what_is_anothers(hub, labs):
    typed(labs["bob"], "echo secret > mine.txt")
    typed(labs[hub.teacher], "cd teaching", "python -m roofgrade roster students.csv")
    exchange = DATA / "exchange/roofline"
    private = [
        "/home/bob/roofline/mine.txt", f"/home/{hub.teacher}/roofline/teaching/gradebook.db",
        f"/home/{hub.teacher}/roofline/teaching/solutions/en/{SET}/{SET}.ipynb",
        PREFIX / f"teaching/solutions/en/{SET}/{SET}.ipynb",
        CLONE / f"solutions/en/{SET}/{SET}.ipynb",
        DATA / "hub/jupyterhub.sqlite", DATA / "hub/jupyterhub_cookie_secret",
        DATA / "hub/first-passwords.csv", exchange / "inbound", exchange / "feedback",
        f"/proc/{hub_process(hub)}/environ", "/etc/roofline/hub.py",
    ]  # fmt: skip
    look = "import os, sys; p = sys.argv[1]; os.listdir(p) if os.path.isdir(p) else open(p).read(1)"
    for place in private:
        hub.box.run("/usr/bin/python3", "-c", look.replace("open(p)", "open(p, 'rb')"), place)
        tried = hub.box.run("/usr/bin/python3", "-c", look, place, user="ada", check=False)
        assert "PermissionError" in tried.stderr, place
    for folder in (PREFIX, PREFIX / "course/course/en", exchange / "outbound", DATA / "hub"):
        tried = hub.box.run("touch", folder / "ada", user="ada", check=False)
        assert tried.returncode, f"Ada may write to {folder}"


def hub_process(hub):
    found = hub.box.run("pgrep", "-f", "bin/jupyterhub --config").stdout.split()
    return found[0]


@WEEKLY
def test_no_student_reaches_anothers_server(hub, labs, bobs):
    _, own, proxy = hub.ports
    asked = {
        f"{bobs}api/contents": {403}, f"{bobs}roofline/home": {403},
        f"{hub.server('bob')}api/contents": {403}, f"{hub.url}hub/api/users/bob": {403, 404},
        f"http://127.0.0.1:{own}/hub/api/users/bob/server": {403, 404, 405},
        f"http://127.0.0.1:{proxy}/api/routes": {403},
    }  # fmt: skip
    script = (
        "import json, os, sys, urllib.error, urllib.request as r\n"
        "found = []\n"
        "for address in sys.argv[1:]:\n"
        "    for head in ({}, {'Authorization': 'token ' + os.environ['JUPYTERHUB_API_TOKEN']}):\n"
        "        try: found.append(r.urlopen(r.Request(address, headers=head)).status)\n"
        "        except urllib.error.HTTPError as error: found.append(error.code)\n"
        "open('asked.json', 'w').write(json.dumps(found))\n"
    )
    hub.box.run("bash", "-c", "cat > /home/ada/ask.py", input=script)
    typed(labs["ada"], f"python ~/ask.py {' '.join(asked)}")
    found = json.loads(hub.box.run("cat", "/home/ada/roofline/asked.json").stdout)
    for address, allowed in asked.items():
        plain, token = found.pop(0), found.pop(0)
        assert {plain, token} <= allowed, f"{address}: {plain}, {token}"
    # Over ports, whoever is on the machine could read what a kernel puts out.
    files = "cat /home/bob/.local/share/jupyter/runtime/kernel-*.json"
    kernels = hub.box.run("bash", "-c", files).stdout
    assert kernels.count('"transport": "ipc"') == kernels.count('"transport"') > 0
    visitor = labs["ada"].context.new_page()
    for address in (
        f"{hub.server('bob')}lab", f"{hub.server('bob')}files/mine.txt", f"{hub.url}hub/admin",
        f"{hub.server(hub.teacher)}formgrader", f"{hub.url}hub/change-password/bob",
        f"{hub.url}hub/spawn/bob",
    ):  # fmt: skip
        assert visitor.goto(address).status in (403, 404), address
    visitor.close()


@WEEKLY
def test_nobody_hands_in_for_another_nor_by_a_link(hub, labs):
    inbound = DATA / "exchange/roofline/inbound"
    later = "2999-01-01 00:00:00.000000 UTC"
    solution = f"/home/{hub.teacher}/roofline/teaching/solutions/en/{SET}/{SET}.ipynb"
    collect = f"nbgrader collect {SET} --update"
    typed(labs[hub.teacher], "cd teaching", collect)
    hub.box.run("bash", "-ec", f"""
        cd {inbound}
        mkdir 'bob+{SET}+{later}+x' 'ada+{SET}+{later}+y' 'ada+{SET}+never+z'
        echo '{{}}' > 'bob+{SET}+{later}+x/{SET}.ipynb'
        ln -s {solution} 'ada+{SET}+{later}+y/{SET}.ipynb'
    """, user="ada")  # fmt: skip
    mine = f"cyd+{SET}+2026-01-01 00:00:00.000000 UTC+w"
    hub.box.run("bash", "-ec", f"cd {inbound}; mkdir '{mine}'; echo '{{}}' > '{mine}/{SET}.ipynb'",
                user="cyd")  # fmt: skip
    stolen = hub.box.run("mv", inbound / mine, inbound / "gone", user="ada", check=False)
    assert stolen.returncode, "Ada may move what Cyd handed in"

    submitted = f"/home/{hub.teacher}/roofline/teaching/submitted"
    hub.box.run("mkdir", "-p", submitted, user=hub.teacher)
    sums = f"cd {submitted}; find . -path './[ab]*' -type f | sort | xargs -r sha256sum"
    before = hub.box.run("bash", "-c", sums).stdout
    said = typed(
        labs[hub.teacher], "cd teaching", f"stty cols 500; nbgrader collect {SET} --update"
    )
    assert hub.box.run("bash", "-c", sums).stdout == before
    assert said.count("was not collected") == 3
    assert "created by the account ada" in said
    hub.box.run("test", "-f", f"{submitted}/cyd/{SET}/{SET}.ipynb")
    hub.box.run("bash", "-c", f"rm -r {inbound}/*never* {inbound}/*2999* '{inbound}/{mine}'")


# Which of these addresses and of a window with the first a page's script can read.
STEAL = """async (addresses) => {
  const opened = window.open(addresses[0]);
  const read = await Promise.all(addresses.map((address) =>
    fetch(address, { credentials: "include" }).then(() => true, () => false)));
  await fetch(addresses[0], { method: "POST", mode: "no-cors", credentials: "include" });
  await new Promise((resolve) => setTimeout(resolve, 3000));
  try { read.push(Boolean(opened.document.body)); } catch { read.push(false); }
  return read;
}"""


@WEEKLY
def test_a_page_of_a_student_cannot_act_as_the_teacher_who_opens_it(hub, labs):
    own, teacher = hub.server("cyd"), hub.server(hub.teacher)
    targets = [f"{teacher}api/contents", f"{hub.url}hub/token", f"{teacher}lab"]
    before = fetched(labs[hub.teacher], targets[0])["content"]
    page = labs[hub.teacher].context.new_page()
    assert page.goto(f"{own}static/mine.html").status == 200
    assert page.evaluate(STEAL, targets) == [False] * 4
    assert fetched(labs[hub.teacher], targets[0])["content"] == before
    assert all(page.evaluate(STEAL, [f"{own}api/contents"])), "the script would steal nothing"


@WEEKLY
def test_options_are_remembered_and_marks_stay_in_their_gradebook(hub, labs):
    teaching = f"/home/{hub.teacher}/roofline/teaching"
    hub.box.run("nbgrader", "db", "assignment", "add", SET, user=hub.teacher, cwd=teaching)
    script = f"import sqlite3; print(*sqlite3.connect('{teaching}/gradebook.db').iterdump())"

    def state():
        files = (PREFIX / "settings.json", "/etc/roofline/install.json")
        return [hub.box.run("python", "-c", script).stdout, hub.box.run("cat", *files).stdout]

    before = state()
    for options in ((), ("--gradebook", "sqlite", "--memory", "2G", "--url", hub.url), ()):
        hub.install(STUDENTS, *options)
        assert state() == before
    for options in (("--gradebook", "postgresql"), ("--instructor", "bob"), ("--data", "/srv/b")):
        assert "Nothing was changed" in hub.install(STUDENTS, *options, check=False)
        assert state() == before
    hub.install(STUDENTS, "--memory", "3G")
    hub.install(STUDENTS)
    assert state() == [before[0], before[1].replace('"2G"', '"3G"')]


@WEEKLY
def test_the_same_command_again_lets_more_students_in(hub, labs):
    passwords = dict(hub.passwords)
    hub.install((*STUDENTS, "dan"))
    assert hub.passwords.items() > passwords.items()
    page = labs["ada"].context.browser.new_page()
    assert page.goto(f"{hub.url}hub/signup").status == 404
    sign_in(page, hub, "dan", "wrong")
    page.get_by_text("Invalid username or password").wait_for()
    sign_in(page, hub, "dan")
    page.wait_for_url("**/dan*")
    page.goto(f"{hub.url}hub/change-password")
    assert "dan" in page.content()
    page.close()


def module(name):
    """A file of deploy/machine, as a module."""
    path = ROOT / "deploy/machine" / name
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


INSTALL, URL = module("install.py"), "https://hub.example.org"
FIRST = ("--instructor", "prof", "--students", __file__)
CHOSEN = ("--url", URL, "--port", "9000", "--memory", "3G", "--address", "::1")


@pytest.fixture
def options(tmp_path, monkeypatch):
    """What the install makes of some words of its command line, and remembers."""
    monkeypatch.setattr(INSTALL, "SETTINGS_FOLDER", tmp_path / "etc")
    monkeypatch.setattr(INSTALL, "REMEMBERED", tmp_path / "etc/install.json")
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["install.py", "--prefix", str(tmp_path), *words])
        remembered = INSTALL.read_remembered(sys.argv)
        made = INSTALL.parse_options(remembered)
        INSTALL.refuse_to_leave_marks(remembered, made, sys.executable)
        INSTALL.remember_options(made)
        return {name: str(getattr(made, name)) for name in INSTALL.DEFAULTS}

    return run


def test_options_are_remembered_in_each_order(options):
    made = options(*FIRST, *CHOSEN)
    assert made.items() > {"url": URL, "port": "9000", "memory": "3G", "cores": "2.0"}.items()
    assert options() == options("--port", "9000") == options() == made
    assert options("--port", "8000") == options() == made | {"port": "8000"}
    assert options("--shared-origin")["url"] == options()["url"] == "shared"
    assert options("--url", f"{URL}/")["url"] == options()["url"] == URL


def test_the_install_stops_without_names_unless_told(options):
    with pytest.raises(SystemExit, match="can act as anyone"):
        options(*FIRST)
    for bad in ("http://hub.example.org", "hub.example.org", "https://10.0.0.1", f"{URL}/hub"):
        assert not INSTALL.is_hub_url(bad)
    with pytest.raises(SystemExit):
        options(*FIRST, *CHOSEN, "--memory", "3GB")  # the hub wouldn't start
    with pytest.raises(SystemExit, match=r"DNS has no address for hub\.invalid"):
        INSTALL.check_url("https://hub.invalid")


@pytest.mark.parametrize("change", [("--gradebook", "postgresql"), ("--instructor", "other")])
def test_a_gradebook_with_marks_is_never_left(options, monkeypatch, change):
    made = options(*FIRST, *CHOSEN)
    monkeypatch.setattr(INSTALL, "count_marks", lambda *_: (1, 0))
    with pytest.raises(SystemExit, match=r"marks behind\. Nothing was changed"):
        options(*change)
    assert options() == made
    monkeypatch.setattr(INSTALL, "count_marks", lambda *_: (0, 0))
    assert options(*change) == options() != made


@pytest.mark.parametrize(("url", "admins"), [(URL, ["prof"]), (None, [])])
def test_each_server_has_an_origin_or_the_teacher_no_power(tmp_path, monkeypatch, url, admins):
    settings = dict.fromkeys(("state", "address", "port"), "") | {"instructor": "prof", "url": url}
    (tmp_path / "settings.json").write_text(json.dumps(settings | {"systemd": False}))
    (tmp_path / "environment/lib/python3").mkdir(parents=True)
    lacking = MagicMock(LocalProcessSpawner=object, NativeAuthenticator=object)
    for name in ("", ".spawner", ".handlers", ".orm"):
        for package in ("bcrypt", "jupyterhub", "nativeauthenticator"):
            monkeypatch.setitem(sys.modules, f"{package}{name}", lacking)
    config, file = Config(), ROOT / "deploy/machine/hub/jupyterhub_config.py"
    given = {"get_config": lambda: config, "load_subconfig": print,
             "__file__": str(tmp_path / "hub/jupyterhub_config.py")}  # fmt: skip
    exec(file.read_text(), given)
    assert config.JupyterHub.get("cookie_host_prefix_enabled", False) == bool(url)
    assert config.JupyterHub.load_roles[0] == {"name": "admin", "users": admins}
    assert config.JupyterHub.get("subdomain_host") == url
    assert not {"admin_users", "access:servers"} & set(re.findall(r"[a-z:_]+", str(config)))


def test_what_a_student_changed_stays_and_all_else_is_as_it_comes(tmp_path):
    fill = module("hub/start_server.py").copy_new_files
    given, folder = tmp_path / "given", tmp_path / "folder"
    given.mkdir()
    for name in ("changed", "left", "deleted"):
        (given / name).write_text("old")
    fill(given, folder)
    (folder / "changed").write_text("mine")
    (folder / "deleted").unlink()
    (given / "sub").mkdir()
    (given / "sub/new").write_text("new")
    for name in ("changed", "left"):
        (given / name).write_text("new")
    for _ in "again":
        fill(given, folder)
    found = [(folder / name).read_text() for name in ("changed", "left", "deleted", "sub/new")]
    assert found == ["mine", "new", "old", "new"]


def test_a_students_folder_is_private_in_an_open_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["", "--only-fill"])
    monkeypatch.chdir(tmp_path)
    module("hub/start_server.py").main()
    assert (tmp_path / "roofline").stat().st_mode & 0o777 == 0o700


def test_accounts_that_exist_are_all_named_after_their_group_is_made(tmp_path, monkeypatch):
    people = module("people.py")
    people.run, people.pwd, people.grp, people.roster = (MagicMock() for _ in range(4))
    people.roster.read_roster.return_value = [MagicMock(id=name) for name in "ab"]
    people.pwd.getpwnam().pw_uid, people.grp.getgrnam().gr_mem = 1000, []
    (tmp_path / "settings.json").write_text('{"instructor": "prof"}')
    monkeypatch.setattr(sys, "argv", ["", tmp_path, "roster"])
    with pytest.raises(SystemExit, match="for name in a b; do usermod -aG roofline-students"):
        people.main()
    people.run.assert_called_once_with("groupadd", "--force", "roofline-students")


def test_npm_says_why_it_failed(tmp_path, capfd):
    npm = tmp_path / "npm"
    npm.write_text('#!/bin/sh\ncase "$*" in *--silent*) ;; *) echo reason;; esac; exit 1\n')
    npm.chmod(0o755)
    with pytest.raises(subprocess.CalledProcessError):
        INSTALL.make_proxy(tmp_path, tmp_path / "python")
    assert "reason" in capfd.readouterr().out


@pytest.mark.parametrize("name", ["root", "daemon", "1234567", "ada lovelace", "prof", "ada,sudo"])
def test_no_account_of_the_system_becomes_a_students(name):
    with pytest.raises(SystemExit, match=name):
        module("people.py").refuse_bad_ids([name], "prof")
