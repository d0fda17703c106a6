"""A delegated cgroup is taken where there is one, and only there."""

import os
import subprocess
from pathlib import Path

import pytest

from roofgrade.errors import EndedError, MachineryError
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
    cgroup = memory.Cgroup(cgroups, 4321)
    found = {name: (cgroup.folder / name).read_text() for name in SETTINGS}
    assert found == {
        "memory.max": str(1536 << 20),
        "memory.oom.group": "1",
        "memory.swap.max": "0",
        "pids.max": "128",
        "cgroup.procs": "4321",
    }
    assert not cgroup.exceeded()
    (cgroup.folder / "memory.events").write_text("low 0\noom 1\noom_kill 1\n")
    assert cgroup.exceeded()


def test_what_is_no_cgroup_is_an_error_and_never_goes_unlimited(tmp_path):
    with pytest.raises(MachineryError, match="no process can be put into a cgroup"):
        memory.Cgroup(tmp_path, os.getpid())
    assert list(tmp_path.iterdir()) == []


def test_the_folder_that_is_named_is_taken(cgroups, monkeypatch):
    monkeypatch.setenv("ROOFKIT_CGROUP", str(cgroups))
    (cgroups / "cgroup.subtree_control").write_text("cpu memory pids")
    assert memory.delegated() == cgroups


def test_a_named_folder_that_will_not_do_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFKIT_CGROUP", str(tmp_path))
    with pytest.raises(MachineryError, match="is no cgroup"):
        memory.delegated()


def test_ones_own_is_taken_if_it_was_given_away(cgroups, monkeypatch):
    monkeypatch.setattr(memory, "_own_cgroup", lambda: cgroups)
    assert memory.delegated() is None
    monkeypatch.setattr(memory.os, "getxattr", lambda *which: b"1")
    (cgroups / "cgroup.procs").write_text("12\n13\n")
    (cgroups / "cgroup.subtree_control").write_text("memory pids")
    assert memory.delegated() == cgroups
    assert (cgroups / memory.OURS / "cgroup.procs").read_text() == "13"
    monkeypatch.setattr(memory, "_own_cgroup", lambda: cgroups / memory.OURS)
    assert memory.delegated() == cgroups


def test_what_all_processes_of_a_submission_hold_counts_together(box, monkeypatch):
    monkeypatch.setattr(memory, "MOST", 400 << 20)
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
        with pytest.raises(EndedError, match="used too much memory"):
            child.run(f"{hold.format(count=3)}\n{talk}", seconds=300)


def test_a_process_that_is_gone_holds_nothing():
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
        assert not memory.Polling(gone.pid).exceeded()
