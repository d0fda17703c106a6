"""A delegated cgroup is taken where there is one, and only there."""

import contextlib
import os
import resource
import select
import subprocess
import sys
from pathlib import Path

import pytest
from words import said

from roofgrade.common.errors import MachineryError, ProcessEndedError
from roofgrade.sandbox import memory

SETTINGS = ("memory.max", "memory.oom.group", "memory.swap.max", "pids.max", "cgroup.procs")


@pytest.fixture
def cgroups(tmp_path, monkeypatch):
    """A folder that looks like a cgroup: each one made in it has a cgroup's files."""
    make = Path.mkdir

    def make_cgroup(path, *arguments, **options):
        made = path.exists()
        make(path, *arguments, **options)
        if not made:
            for name in (*SETTINGS, "cgroup.subtree_control"):
                (path / name).write_text("")
            (path / "memory.events").write_text("low 0\noom 0\noom_kill 0\n")

    monkeypatch.setattr(Path, "mkdir", make_cgroup)
    monkeypatch.delenv("ROOFKIT_CGROUP", raising=False)
    monkeypatch.setattr(memory, "MOUNT", tmp_path)
    folder = tmp_path / "ours"
    folder.mkdir()
    return folder


def test_a_child_is_limited_before_it_is_put_in(cgroups):
    cgroup = memory.CgroupMeter(cgroups, 4321)
    found = [(cgroup.folder / name).read_text() for name in SETTINGS]
    assert found == [str(10**9), "1", "0", "128", "4321"]
    assert not cgroup.is_exceeded()
    (cgroup.folder / "memory.events").write_text("low 0\noom 1\noom_kill 1\n")
    assert cgroup.is_exceeded()


def test_what_is_no_cgroup_is_an_error_and_never_goes_unlimited(tmp_path):
    with pytest.raises(MachineryError, match="cannot move a process into a cgroup"):
        memory.CgroupMeter(tmp_path, os.getpid())
    assert list(tmp_path.iterdir()) == []


def test_the_folder_that_is_named_is_taken(cgroups, monkeypatch):
    monkeypatch.setenv("ROOFKIT_CGROUP", str(cgroups))
    (cgroups / "cgroup.subtree_control").write_text("cpu memory pids")
    assert memory.find_delegated() == cgroups


def test_a_named_folder_that_will_not_do_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFKIT_CGROUP", str(tmp_path))
    with pytest.raises(MachineryError, match="cannot be used"):
        memory.find_delegated()


def test_the_own_cgroup_is_taken_if_it_was_delegated(cgroups, monkeypatch):
    monkeypatch.setattr(memory, "_own_cgroup", lambda: cgroups)
    assert memory.find_delegated() is None
    monkeypatch.setattr(memory.os, "getxattr", lambda *which: b"1")
    (cgroups / "cgroup.procs").write_text("12\n13\n")
    (cgroups / "cgroup.subtree_control").write_text("memory pids")
    assert memory.find_delegated() == cgroups
    assert (cgroups / memory.WORKERS_CGROUP / "cgroup.procs").read_text() == "13"
    monkeypatch.setattr(memory, "_own_cgroup", lambda: cgroups / memory.WORKERS_CGROUP)
    assert memory.find_delegated() == cgroups


def test_what_all_processes_of_a_submission_hold_counts_together(box, monkeypatch):
    monkeypatch.setattr(memory, "MOST_BYTES", 400 << 20)
    hold = (
        "import os, time\n"
        "for _ in range({count}):\n"
        "    if not os.fork():\n"
        "        held = bytearray(b'x') * (150 << 20)\n"
        "        time.sleep(60)\n"
        "time.sleep(1)"
    )
    with box.open({}) as child:
        assert not child.run(hold.format(count=1))[1]
        talk = "import roofcheck\nwhile True:\n    roofcheck.request({})\n    time.sleep(0.01)"
        with pytest.raises(ProcessEndedError, match="used too much memory"):
            child.run(f"{hold.format(count=3)}\n{talk}", seconds=300)


def test_what_goes_on_after_a_cell_is_found_while_nobody_talks(box, monkeypatch):
    monkeypatch.setattr(memory, "MOST_BYTES", 400 << 20)
    with box.open({}) as child:
        with contextlib.suppress(ProcessEndedError):  # it may be found before the cell has ended
            child.run(
                "import threading\ndef hold():\n    global held\n"
                "    held = bytearray(b'x') * (500 << 20)\nthreading.Timer(0, hold).start()"
            )
        poll = select.poll()
        poll.register(child._process._pidfd, select.POLLIN)
        assert poll.poll(300_000)  # it is gone, though it was not asked for anything
        with pytest.raises(ProcessEndedError, match="used too much memory"):
            child.run("1 + 1")


def test_a_program_that_is_being_started_counts_once(box, monkeypatch):
    """It shares its parent's memory until it runs, and looks like a second one that large."""
    monkeypatch.setattr(memory, "MOST_BYTES", 900 << 20)
    start = "import subprocess\nheld = bytearray(b'x') * (400 << 20)\n"
    with box.open({}) as child:
        child.run(f"{start}for _ in range(300): subprocess.run(['true'])", seconds=300)
        assert said(child.run("len(held)")[0]) == f"{400 << 20}"


def test_a_process_that_is_gone_holds_nothing(box):
    with box.open({}) as child:
        meter = memory.PollingMeter(child._process.pid)
        assert meter._list_pids() == ["1"]
        assert meter._read_resident("1") > 1 << 20
        child._process.kill()
        with pytest.raises(ProcessEndedError):
            child.run("1 + 1")
        assert not meter.is_exceeded()
        meter.close()


BOUNDED = """
import resource
from roofgrade.sandbox import Box

hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
resource.setrlimit(resource.RLIMIT_DATA, (600 << 20, hard))
resource.setrlimit(resource.RLIMIT_CPU, (1_000_000, resource.getrlimit(resource.RLIMIT_CPU)[1]))
box = Box(unsandboxed={unsandboxed})
with box.open({}) as child:
    source = "import resource\\nheld = bytearray(b'x') * 650_000_000\\nprint(len(held), *("
    source += "resource.getrlimit(which) for which in (resource.RLIMIT_CPU, resource.RLIMIT_DATA)))"
    print(child.run(source)[0]["outputs"][0]["text"])
box.stop()
"""


@pytest.mark.slow("a worker's own limits are not a student's")
@pytest.mark.parametrize("unsandboxed", [False, True])
def test_bounds_that_a_worker_sets_for_itself_are_not_the_students(box, unsandboxed):
    hard = [resource.getrlimit(which)[1] for which in (resource.RLIMIT_CPU, resource.RLIMIT_DATA)]
    program = BOUNDED.replace("{unsandboxed}", str(unsandboxed))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    said = " ".join(["650000000", *(str((value, value)) for value in hard)])
    assert (done.stdout.strip(), done.stderr) == (said, "")
