"""Hostile cells get nowhere, and the next submission never notices."""

import contextlib
import os
import platform
import re
import tomllib
from pathlib import Path

import pyseccomp
import pytest
from words import answer, said

from roofgrade.common.errors import ProcessEndedError
from roofgrade.sandbox import layout, memory, syscalls

ATTACKS = tomllib.loads(Path(__file__).with_name("attacks.toml").read_text(encoding="utf-8"))
HOARDS, HARMLESS = ATTACKS["hoards"], ATTACKS["harmless"]
DANGEROUS = {"bpf", "clone3", "inotify_init1", "io_uring_setup", "kcmp", "keyctl", "memfd_create"}
DANGEROUS |= {"mount", "mq_open", "splice", "tee"}
DANGEROUS |= {"mount_setattr", "open_by_handle_at", "perf_event_open", "pidfd_getfd", "ptrace"}
DANGEROUS |= {"process_vm_writev", "setns", "setuid", "shmget", "unshare", "userfaultfd"}


@pytest.fixture(autouse=True)
def neighbour(box):
    """The warm Python lives through every attack, nothing stays, and the next child is as new."""
    warm, before = box._process.pid, len(os.listdir("/proc/self/fd"))
    yield
    with box.open({}) as child:
        reply = child.run("import os\n1 + 1")[0]
        assert (reply["count"], len(reply["outputs"]), said(reply)) == (1, 1, "2")
    assert box._process.pid == warm
    assert box._process.poll() is None
    assert len(os.listdir("/proc/self/fd")) <= before  # fewer, where an earlier test's were closed


def namespaces():
    """The pid namespaces in which something lives."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.add(os.stat(f"/proc/{pid}/ns/pid").st_ino)
    return found


def system_calls():
    """What this machine's kernel may be asked, by number."""
    for number in range(512):
        with contextlib.suppress(ValueError):
            yield number, pyseccomp.resolve_syscall(pyseccomp.system_arch(), number).decode()


def test_the_kernel_answers_no_call_that_is_not_on_the_list(child):
    others = {
        name: number for number, name in system_calls() if name not in syscalls.list_allowed()
    }
    assert set(others) >= DANGEROUS
    reply, _ = child.run(
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        f"numbers = {others}\n"
        "answers = {name: (libc.syscall(number, 0, 0, 0, 0, 0, 0), ctypes.get_errno())\n"
        "           for name, number in numbers.items()}\n"
        "print({name: answer for name, answer in answers.items() if answer != (-1, 38)})"
    )
    assert said(reply) == "{}\n"


def one_each(attacks):
    """Each attack by its name: what comes of it, and the cell."""
    return [
        pytest.param(outcome, ATTACKS["forge"] * ("forge(" in source) + source, id=name)
        for outcome, cells in attacks.items()
        for name, source in cells.items()
        if name not in ON_ANOTHER_PROCESSOR
    ]


ON_ANOTHER_PROCESSOR = {"i386 system calls"} if platform.machine() != "x86_64" else set()


@pytest.mark.parametrize(("expected", "source"), one_each(ATTACKS["denied"]))
def test_an_attack_is_denied(child, expected, source):
    reply, slow = child.run(source, seconds=300)
    assert re.search(expected, said(reply))
    assert not slow


def run_all(child, *sources):
    for source in sources:
        child.run(source, seconds=300)


@pytest.mark.parametrize(("reason", "source"), one_each(ATTACKS["ending"]))
def test_an_attack_ends_the_submission(box, reason, source):
    with box.open({}) as child:
        namespace = os.stat(f"/proc/{child._process.pid}/ns/pid").st_ino
        with pytest.raises(ProcessEndedError, match=reason):
            run_all(child, source, "1 + 1")
    assert namespace not in namespaces()


@pytest.mark.parametrize("attack", HOARDS)
def test_hoarded_memory_is_found(box, attack, monkeypatch):
    monkeypatch.setattr(memory, "MOST_BYTES", 400 << 20)
    with box.open({}) as child, pytest.raises(ProcessEndedError, match="used too much memory"):
        child.run(f"{HOARDS[attack]}\nimport time\ntime.sleep(300)", seconds=300)


@pytest.mark.parametrize("attack", HARMLESS)
def test_an_attack_harms_no_later_cell(child, attack):
    child.run("answer = 42")
    child.run(HARMLESS[attack])
    child.run("other = 1")
    assert child.probe({"expression": "answer"})[0]["answer"] == answer(42)


def test_a_forged_reply_is_data_and_leaves_the_true_one_behind(child):
    reply, _ = child.run(
        "import os, struct\n"
        'data = b\'{"outputs": [{"x": NaN, "y": "\\\\ud800"}], "count": 7}\'\n'
        "os.write(3, struct.pack('!I', len(data)) + data)"
    )
    assert reply["count"] == 7
    assert reply["outputs"][0]["y"] == "\N{REPLACEMENT CHARACTER}"
    with pytest.raises(ProcessEndedError, match="invalid reply"):
        child.probe({"expression": "1"})


def test_a_reply_that_trickles_in_runs_out_of_time(child, monkeypatch):
    monkeypatch.setattr("roofgrade.sandbox.child.GRACE_SECONDS", 0.5)
    source = (
        "import os, signal, struct, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "os.write(3, struct.pack('!I', 1000))\n"
        "while True:\n    os.write(3, b' ')\n    time.sleep(0.05)"
    )
    with pytest.raises(ProcessEndedError, match="could not be interrupted"):
        child.run(source, seconds=3)


def test_orphans_die_with_the_submission(box):
    with box.open({}) as child:
        child.run(
            "import os, time\n"
            "for _ in range(5):\n"
            "    if not os.fork():\n"
            "        os.setsid()\n"
            "        if os.fork(): os._exit(0)\n"
            "        time.sleep(1000)"
        )
        namespace = os.stat(f"/proc/{child._process.pid}/ns/pid").st_ino
        assert namespace in namespaces()
    assert namespace not in namespaces()


def test_nothing_is_left_for_the_next_student(box):
    leave = """
import os, socket, numpy, roofkit, builtins
places = {line.split()[4] for line in open('/proc/self/mountinfo')} | {'.', '/', '/opt', '/etc'}
left = []
for place in places:
    try:
        open(f'{place}/drop', 'w').close()
        left.append(place)
    except OSError: pass
door = socket.socket(socket.AF_UNIX)
door.bind('\\0drop')
numpy.drop = roofkit.drop = builtins.drop = os.environ['DROP'] = 'x'
print(sorted(left))
"""
    look = """
import os, socket, numpy, roofkit, builtins
places = {line.split()[4] for line in open('/proc/self/mountinfo')} | {'.', '/', '/opt', '/etc'}
print([place for place in places if os.path.exists(f'{place}/drop')], 'DROP' in os.environ)
print([hasattr(thing, 'drop') for thing in (numpy, roofkit, builtins)])
try: socket.socket(socket.AF_UNIX).connect('\\0drop')
except OSError as error: print(type(error).__name__)
"""
    with box.open({}) as child:
        assert said(child.run(leave)[0]) == "['.', '/dev/shm', '/home/student', '/tmp']\n"
    with box.open({}) as child:
        found = said(child.run(look)[0])
    assert found == "[] False\n[False, False, False]\nConnectionRefusedError\n"


def test_nothing_of_the_host_is_there(child):
    hidden = ["/etc/shadow", "/etc/passwd", "/root/.bashrc", "/srv", "/var", "/sys", "/mnt"]
    hidden += [str(layout.ROOFKIT.parent / name) for name in ("solutions", "nbgrader_config.py")]
    hidden.append(str(layout.ROOFCHECK / "questions"))
    reply, _ = child.run(
        f"import os\nprint([path for path in {hidden} if os.path.exists(path)])\n"
        "import roofgrade\n"
        "print(sorted(os.listdir(os.path.dirname(roofgrade.__file__) + '/sandbox')))\n"
        "print([folder for folder, *_ in os.walk('/opt') if 'questions' in folder])"
    )
    assert said(reply) == "[]\n['inside']\n[]\n"
