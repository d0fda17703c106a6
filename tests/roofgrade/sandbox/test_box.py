"""A box from its first child to its end: files, time, and whose fault an end is."""

import os
import signal
import subprocess
import sys

import psutil
import pytest
from words import answer, said

from roofgrade.common.errors import MachineryError, ProcessEndedError
from roofgrade.sandbox import Box, host, syscalls, walls
from roofgrade.sandbox.bubblewrap import TMPFS, Bubblewrap

KINDS = {"in the sandbox": False, "without walls": True}


@pytest.fixture(params=KINDS, scope="module")
def any_box(request):
    """A Box of each kind."""
    if KINDS[request.param]:
        bare = Box(unsandboxed=True)
        yield bare
        bare.stop()
    else:
        yield request.getfixturevalue("box")


def test_a_notebook_finds_its_files_and_keeps_its_names(any_box):
    files = {"data.txt": b"7", "more/of it.bin": b"\0\xff"}
    with any_box.open(files) as child:
        reply, slow = child.run(
            "x = int(open('data.txt').read())\nopen('more/of it.bin', 'rb').read()"
        )
        assert (said(reply), slow, reply["count"]) == (r"b'\x00\xff'", False, 1)
        assert child.run("x + 1")[0]["outputs"][0]["data"] == {"text/plain": "8"}
        assert child.probe({"expression": "x"}) == ({"answer": answer(7), "count": 3}, False)
    with any_box.open({}) as child:
        assert said(child.run("import os\n(os.listdir(), 'x' in globals())")[0]) == "([], False)"


def test_a_graded_notebook_runs_with_its_own_settings(any_box):
    source = (
        "import os\nprint(*(os.environ[name] for name in "
        "('NBGRADER_EXECUTION', 'ROOFKIT_ANSWERS', 'MPLBACKEND', 'OMP_NUM_THREADS')), sep='|')"
    )
    with any_box.open({}) as child:
        expected = "autograde||module://matplotlib_inline.backend_inline|1\n"
        assert said(child.run(source)[0]) == expected


@pytest.mark.parametrize("loop", [
    "while True: pass",
    "import asyncio\nawait asyncio.sleep(0)\nwhile True: pass",
    "class Slow:\n    def __repr__(self):\n        while True: pass\nSlow()",
    "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nimport time\ntime.sleep(1)",
    "!sleep 60",
])  # fmt: skip
def test_after_an_interrupted_cell_the_notebook_goes_on(any_box, loop):
    with any_box.open({}) as child:
        reply, slow = child.run(loop, seconds=0.3)
        assert slow
        assert reply["count"] == 1
        assert child.probe({"expression": "6 * 7"})[0]["answer"] == answer(42)
        assert said(child.run("1 + 1")[0]) == "2"


def test_an_answer_that_takes_too_long_counts_as_no_answer(child):
    child.run("class Slow:\n    def __repr__(self):\n        while True: pass")
    assert child.probe({"expression": "Slow()"}, seconds=0.2) == ({"answer": {}, "count": 2}, True)


@pytest.mark.slow("what a submission started ends with it")
def test_what_does_not_obey_is_ended(any_box, monkeypatch):
    monkeypatch.setattr("roofgrade.sandbox.child.GRACE_SECONDS", 0.5)
    # The limit leaves it ample time to close its ears.
    stubborn = (
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "while True: time.sleep(60)"
    )
    with (
        any_box.open({}) as child,
        pytest.raises(ProcessEndedError, match=r"longer than 3 s and could not be interrupted"),
    ):
        child.run(stubborn, seconds=3)


def test_a_notebook_has_a_time_limit_too(any_box):
    ended = pytest.raises(ProcessEndedError, match="exceeded its time limit")
    with any_box.open({}, seconds=0.5) as child, ended:
        for source in ("1 + 1", "while True: pass"):
            child.run(source)


def test_what_a_cell_asks_is_answered_while_it_runs(any_box):
    asked = []

    def ask(message):
        asked.append(message)
        return {"figure": len(asked)}

    with any_box.open({}) as child:
        source = "import roofcheck\n[roofcheck.request({'q': n})['figure'] for n in (5, 6)]"
        assert said(child.run(source, ask=ask)[0]) == "[1, 2]"
        assert asked == [{"q": 5}, {"q": 6}]
        assert said(child.run("roofcheck.request({})")[0]) == "{}"


def test_a_crash_of_student_code_is_the_students(any_box):
    with any_box.open({}) as child, pytest.raises(ProcessEndedError, match="process crashed"):
        child.run("import os\nos._exit(3)")


def test_a_crash_of_the_warm_python_is_the_graders_and_another_starts(box):
    with box.open({}) as child:
        box._process.kill()
        with pytest.raises(MachineryError, match="the sandbox ended"):
            child.run("while True: pass")
    with box.open({}) as child:
        assert said(child.run("1 + 1")[0]) == "2"


def test_walls_that_cannot_be_put_up_are_the_graders_error(box):
    odd = Box()
    odd._walls = Bubblewrap()
    odd._walls.setup["walls"]["tmpfs"] = {"/nowhere": 1}
    with pytest.raises(MachineryError, match="mount: No such file"):
        odd.open({})


def test_files_lie_below_the_notebook(any_box):
    for name in ("/etc/x", "../x", "a/../../x"):
        with pytest.raises(MachineryError, match="outside the submission's folder"):
            any_box.open({name: b""})


@pytest.mark.slow("what a submission started ends with it")
@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_worker_takes_everything_along(box, kind, tmp_path):
    worker = (
        "from roofgrade.sandbox import Box\n"
        f"box = Box(unsandboxed={KINDS[kind]})\n"
        "with box.open({}) as child:\n"
        "    child.run('import os\\nif not os.fork():\\n    while True: pass')\n"
        "    print(child._process.pid, flush=True)\n"
        "    child.run('while True: pass', seconds=100)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # a killed one leaves its folder
    process = subprocess.Popen(
        [sys.executable, "-c", worker], stdout=subprocess.PIPE, text=True, env=environment
    )
    pid = int(process.stdout.readline())
    started = psutil.Process(process.pid).children(recursive=True)
    assert pid in {each.pid for each in started}
    assert len(started) >= 3  # the warm Python, its child, a child of that
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert psutil.wait_procs(started, timeout=300)[1] == []


def test_an_unsealed_process_is_noticed(box):
    with box.open({}) as child:
        namespaces = box._walls._namespaces
        walls.check_sealed(child._process.pid, {*TMPFS, "/dev/pts"}, namespaces)
        with pytest.raises(MachineryError, match="can write to"):
            walls.check_sealed(child._process.pid, TMPFS, namespaces)
        own = os.stat(f"/proc/{child._process.pid}/ns/net").st_ino
        with pytest.raises(MachineryError, match="shares a net namespace"):
            walls.check_sealed(child._process.pid, {*TMPFS, "/dev/pts"}, {"net": own})
    with subprocess.Popen(["sleep", "60"]) as process:
        with pytest.raises(MachineryError, match=r"capabilities|no system call filter"):
            walls.check_sealed(process.pid, TMPFS, namespaces)
        process.kill()


@pytest.mark.parametrize(("setting", "value", "change"), [
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("user/max_user_namespaces", "0", "10000"),
])  # fmt: skip
def test_a_setting_that_forbids_namespaces_is_named(monkeypatch, setting, value, change):
    monkeypatch.setattr(host, "_read_setting", lambda name: value if name == setting else "")
    told = str(host.explain_failure("bwrap: No permissions to create new namespace"))
    assert f"sysctl -w {setting.replace('/', '.')}={change}" in told


@pytest.mark.parametrize(("said", "reason"), [
    ("unshare: Operation not permitted", "docker run"),
    ("bwrap: execvp python: Permission denied", "chmod -R go+rX"), ("", "gave no reason"),
])  # fmt: skip
def test_a_refusal_says_what_to_do(monkeypatch, said, reason):
    monkeypatch.setattr(host, "_read_setting", lambda name: "")
    assert reason in str(host.explain_failure(said))


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(host.shutil, "which", lambda name: None)
    with pytest.raises(MachineryError, match="Install the package bubblewrap"):
        Box().open({})
    monkeypatch.undo()
    monkeypatch.setattr(host.sys, "platform", "darwin")
    with pytest.raises(MachineryError, match="needs Linux"):
        Box().open({})
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    with pytest.raises(MachineryError, match="Install the package libseccomp"):
        syscalls.make_filter.__wrapped__()
