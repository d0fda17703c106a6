"""Whose the sandbox's processes are, whoever grades: root, or a user with a range or without."""

import json
import os
import pwd
import subprocess
import sys

import pytest
from users import run_as

from roofgrade.common.errors import MachineryError
from roofgrade.sandbox import host, identity
from roofgrade.sandbox.bubblewrap import LAUNCH

pytestmark = pytest.mark.slow("the sandbox has users of its own, whoever grades")

NOBODY = 54321
PROGRAM = """
import json, os
from roofgrade.sandbox import Box

boxes = [Box() for _ in range({boxes})]
found = []
for box in boxes:
    with box.open({"a": b"1"}) as child:
        reply, _ = child.run("print(open('a').read(), end='')")
        slow = child.run("while True: pass", seconds=0.1)[1]
        reach = child.run("import socket; socket.create_connection(('1.1.1.1', 53))")[0]
        child.run("!sleep 1000 &")
        owner = os.stat(f"/proc/{child._process.pid}").st_uid
    found.append([owner, reply["outputs"][0]["text"], slow, reach["outputs"][0]["evalue"]])
for box in boxes:
    box.stop()
print(json.dumps(found))
"""
DONE = ["1", True, "[Errno 101] Network is unreachable"]
# Only root can become another, and only root's tests are here then.
AS_ROOT = os.geteuid() == 0
needs_sandbox = pytest.mark.usefixtures("sandbox")


def test_no_two_sandboxes_have_the_same_core_while_there_are_enough(box):
    cores = os.sched_getaffinity(0)
    taken = [identity.take_core() for _ in cores]
    claimed = [core for core, claim in taken if claim]
    assert len(set(claimed)) == len(claimed)
    assert {core for core, _ in taken} <= cores
    with box.open({}) as child:
        assert len(os.sched_getaffinity(child._process.pid)) == 1


def test_no_two_sandboxes_have_the_same_user(box):
    first, second = identity.take_identity(), identity.take_identity()
    for one in (first, second):
        if one.user is None:
            assert one == identity.Identity()
        else:
            assert one.claim.fileno() >= 0
    if AS_ROOT:
        assert identity.FIRST <= first.user < second.user <= identity.LAST
        with pytest.raises(KeyError):
            pwd.getpwuid(first.user)


def test_a_user_is_free_again_when_its_sandbox_is_gone():
    first = identity.take_identity()
    user, maps = first.user, first.maps
    del first
    again = identity.take_identity()
    assert (again.user, again.maps) == (user, maps)


def test_root_has_so_many_users_to_give(monkeypatch):
    monkeypatch.setattr(identity.os, "geteuid", lambda: 0)
    monkeypatch.setattr(identity, "_claim", lambda user: None)
    with pytest.raises(MachineryError, match="no user id between"):
        identity.take_identity()


def test_a_range_goes_by_name_or_number(tmp_path):
    path = tmp_path / "subuid"
    path.write_text(f"someone:1:2\n# no range\n{os.geteuid()}:100000:65536\n")
    assert identity._read_id_range(path) == (100000, 65536)
    path.write_text(f"{pwd.getpwuid(os.geteuid()).pw_name}:200000:65536\n")
    assert identity._read_id_range(path) == (200000, 65536)
    path.write_text("someone:1:2\n")
    assert identity._read_id_range(path) is None
    assert identity._read_id_range(tmp_path / "none") is None


if AS_ROOT:

    def test_root_becomes_somebody_without_an_account(box, child):
        owner = os.stat(f"/proc/{child._process.pid}").st_uid
        assert identity.FIRST <= owner <= identity.LAST
        assert os.stat(f"/proc/{box._process.pid}").st_uid == owner

    @needs_sandbox
    def test_an_ordinary_user_needs_nothing_more():
        assert json.loads(run_as(NOBODY, PROGRAM.replace("{boxes}", "1"))) == [[NOBODY, *DONE]]

    @needs_sandbox
    def test_a_user_with_a_range_has_a_user_for_each():
        found = json.loads(
            run_as(NOBODY, PROGRAM.replace("{boxes}", "2"), subuids=(3_000_000, 100))
        )
        assert found == [[3_000_000, *DONE], [3_000_001, *DONE]]

    def test_what_the_sandboxs_user_cannot_read_is_named(tmp_path):
        tmp_path.chmod(0o700)
        core = min(os.sched_getaffinity(0))
        plan = {"maps": {}, "user": NOBODY, "core": core}
        plan |= {"folders": [str(tmp_path)], "command": ["/bin/true"]}
        command = [sys.executable, "-I", str(LAUNCH), json.dumps(plan)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1
        assert str(host.explain_failure(done.stderr)).endswith("chmod -R go+rX")
        assert str(tmp_path) in done.stderr

    @needs_sandbox
    def test_root_without_roots_rights_is_told_so():
        command = ["setpriv", "--bounding-set", "-sys_admin", sys.executable, "-c"]
        opening = "from roofgrade.sandbox import Box; Box().open({})"
        done = subprocess.run([*command, opening], capture_output=True, text=True)
        assert "MachineryError: the sandbox did not start: unshare: Operation" in done.stderr
        assert "docker run" in done.stderr
