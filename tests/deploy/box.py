"""A machine of its own for a hub: private accounts, homes and data, and nothing that stays.

Mounts and processes live in namespaces of their own, the network is shared. Whatever is mounted
goes with the last process.
"""

import os
import shlex
import signal
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Software, kept between runs; it lies under /srv, since /opt may hold what runs the tests.
KEPT = ROOT / "build/hub"
PREFIX, DATA, CLONE = Path("/srv/opt/roofline"), Path("/srv/roofline"), Path("/root/roofline")
BUILD = f"""
set -eu
mount --make-rprivate /
mkdir -p {KEPT}
aside=/run/roofline-test
mkdir -p $aside
mount -t tmpfs -o mode=700 tmpfs $aside
cp -a /etc $aside/etc
mkdir $aside/clone $aside/kept
mount --bind {ROOT} $aside/clone
mount --bind {KEPT} $aside/kept
mount --bind $aside/etc /etc
# No account reads the clone, from which everything comes, nor what a systemd there is.
mkdir -p /run/systemd
for place in {ROOT} /run/systemd /home /srv /tmp /root; do mount -t tmpfs tmpfs $place; done
chmod 700 /root {ROOT}
chmod 1777 /tmp
chmod 755 /home /srv
mkdir -p {CLONE} {PREFIX} {DATA}
mount --bind $aside/clone {CLONE}
mount --bind $aside/kept {PREFIX}
chmod 755 {PREFIX}
umount $aside/clone $aside/kept
echo ready
while :; do sleep 1000 & wait $!; done
"""


class Box:
    """The machine; ``close`` ends all that runs in it."""

    def __init__(self):
        command = [
            "setpriv", "--pdeathsig", "KILL",
            "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [*command, "bash", "-c", BUILD],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        if self.process.stdout.readline() != "ready\n":
            self.process.wait()
            raise RuntimeError("no namespaces of its own could be made for the hub")
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        self.first = int(children.read_text().split()[0])

    def close(self):
        os.kill(self.first, signal.SIGKILL)
        self.process.wait()

    def command(self, *command, user="root", env=None, cwd=None):
        """The words that run a command in the machine, as an account of it."""
        home = "/root" if user == "root" else f"/home/{user}"
        found = {
            "HOME": home, "USER": user, "LOGNAME": user, "LANG": "C.UTF-8",
            "PATH": f"{PREFIX}/environment/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        } | (env or {})  # fmt: skip
        become = () if user == "root" else ("setpriv", f"--reuid={user}", "--init-groups")
        if user != "root":
            become = ("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--")
        words = (
            shlex.join(["cd", str(cwd or home)])
            + " && exec "
            + shlex.join([*become, *map(str, command)])
        )
        return [
            "nsenter", f"--target={self.first}", "--mount", "--pid", "env", "-i",
            *(f"{name}={value}" for name, value in found.items()), "bash", "-c", words,
        ]  # fmt: skip

    def run(self, *command, check=True, input=None, **options):
        """Run a command to its end; subprocess's CompletedProcess, with what it printed."""
        done = subprocess.run(
            self.command(*command, **options), capture_output=True, text=True, input=input
        )
        if check and done.returncode:
            raise AssertionError(f"{command} failed:\n{done.stdout[-3000:]}{done.stderr[-5000:]}")
        return done

    def start(self, *command, output, **options):
        """Start a command that goes on; its Popen."""
        return subprocess.Popen(
            self.command(*command, **options), stdout=output, stderr=output,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
