"""A machine of its own for a hub: private accounts, homes and data, and nothing that stays.

Mounts and processes live in namespaces of their own, the network is shared. Whatever is mounted
goes with the last process.
"""

import contextlib
import csv
import os
import shlex
import signal
import socket
import subprocess
import time
import urllib.request
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
# No account reads the clone, from which everything comes, nor asks a systemd there is.
mkdir -p /run/systemd
mount -t tmpfs -o mode=700 tmpfs {ROOT}
for place in /run/systemd /home /srv; do mount -t tmpfs -o mode=755 tmpfs $place; done
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=700 tmpfs /root
mkdir -p {CLONE} {PREFIX} {DATA}
mount --bind $aside/clone {CLONE}
mount --bind $aside/kept {PREFIX}
chmod 755 {PREFIX}; rm -f {PREFIX}/settings.json
umount $aside/clone $aside/kept
echo ready
while :; do sleep 1000 & wait $!; done
"""

# Names below localhost are this machine's, as for browsers.
look_up = socket.getaddrinfo
socket.getaddrinfo = lambda host, *others, **more: look_up(
    "127.0.0.1" if str(host).endswith(".localhost") else host, *others, **more
)


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
        become = ()
        if user != "root":
            become = ("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--")
        typed = shlex.join([*become, *map(str, command)])
        words = f"{shlex.join(['cd', str(cwd or home)])} && exec {typed}"
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


class Hub:
    """A hub on a machine of its own, made by the one command for a teacher and some students.

    ``url`` ends in a slash; ``passwords`` holds everybody's first one; ``log`` is a file.
    """

    teacher = "prof"

    def __init__(self, folder, students):
        self.box, self.process = Box(), None
        self.log = folder / "hub.log"
        self.ports = free_ports(3)
        self.url = f"http://hub.localhost:{self.ports[0]}/"
        try:
            place = ("--prefix", PREFIX, "--data", DATA, "--port", self.ports[0], "--url", self.url)
            self.install(students, "--instructor", self.teacher, *place)
            self._settle()
            with self.log.open("w") as output:
                self.process = self.box.start(
                    PREFIX / "environment/bin/jupyterhub", "--config",
                    PREFIX / "hub/jupyterhub_config.py", output=output, cwd=DATA / "hub",
                )  # fmt: skip
            self._wait()
        except BaseException:
            self.close()
            raise

    def server(self, name):
        """The address of somebody's server."""
        return f"{self.url.replace('//', f'//{name}.')}user/{name}/"

    def install(self, students, *options, check=True):
        """The one command, for these ids; what it printed."""
        roster = "id,first_name,last_name,email\n" + "".join(
            f"{name},{name.title()},Student,{name}@example.org\n" for name in students
        )
        self.box.run("bash", "-c", "umask 077; cat > /root/students.csv", input=roster)
        kept = ("HOME", "PATH", "USER", "LOGNAME", "PYTHONPATH", "VIRTUAL_ENV")
        done = self.box.run(
            "/usr/bin/python3", CLONE / "deploy/machine/install.py",
            "--students", "/root/students.csv", *options, check=check,
            env={name: value for name, value in os.environ.items() if name not in kept},
        )  # fmt: skip
        file = self.box.run("cat", DATA / "hub/first-passwords.csv").stdout
        self.passwords = {row["id"]: row["password"] for row in csv.DictReader(file.splitlines())}
        return done.stdout + done.stderr

    def _settle(self):
        """What differs from a real machine: free ports, and a window into JupyterLab for tests."""
        _, hub, proxy = self.ports
        own = (
            f"c.JupyterHub.hub_port = {hub}\n"
            f"c.ConfigurableHTTPProxy.api_url = 'http://127.0.0.1:{proxy}'\n"
        )
        lab = "c.LabApp.expose_app_in_browser = True\n"
        write = "mkdir -p $(dirname $0) && cat > $0"
        self.box.run("bash", "-c", write, "/etc/roofline/hub.py", input=own)
        self.box.run("bash", "-c", write, "/etc/jupyter/jupyter_server_config.py", input=lab)
        names = "".join(f"127.0.0.1 {name}hub.localhost\n" for name in ("", "bob."))
        self.box.run("tee", "-a", "/etc/hosts", input=names)

    def _wait(self):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.url}hub/health", timeout=30).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"the hub did not start:\n{self.log.read_text()[-3000:]}")

    def close(self):
        self.box.close()
        if self.process:
            self.process.wait()


def free_ports(number):
    """Ports of 127.0.0.1 that nobody listens on."""
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]
