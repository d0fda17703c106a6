"""Measure a server's load when a whole class signs in within a minute and hands in a problem set.

``sudo python -m benchmarks.hub --users 50`` sets up a hub with real accounts and servers, as
tests/deploy does. For each student, a script signs in, waits for JupyterLab, fetches the set, runs
its first cell, saves it with answers, and hands it in with the same request as the home page. The
benchmark reports times and memory, and fails only if a hand-in is lost. It runs on one machine.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
import uuid
from collections import defaultdict
from pathlib import Path

import httpx
import websocket

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests/deploy"))
from box import DATA, Hub  # noqa: E402

SET = "ps1"
PLACE = f"exercises/en/{SET}/{SET}.ipynb"
MINUTE = 60
PATIENCE = 600  # timeout in seconds for everything that a student waits for


class Person(threading.Thread):
    """A student who signs in at a given time; ``times`` has the seconds of each step."""

    def __init__(self, hub, name, begins):
        super().__init__(daemon=True)
        self.hub, self.name_, self.begins, self.times, self.error = hub, name, begins, {}, None
        self.home = hub.server(name)
        self.client = httpx.Client(timeout=PATIENCE, follow_redirects=True)

    def run(self):
        try:
            time.sleep(max(0.0, self.begins - time.monotonic()))
            for step in (self.sign_in, self.open_set, self.run_cell, self.hand_in):
                before = time.monotonic()
                step()
                self.times[step.__name__] = time.monotonic() - before
        except Exception as error:
            self.error = error

    def sign_in(self):
        """Sign in, and wait for the JupyterLab page."""
        self.client.get(f"{self.hub.url}hub/login")
        form = {"username": self.name_, "password": self.hub.passwords[self.name_],
                "_xsrf": self.token("/hub/")}  # fmt: skip
        self.client.post(f"{self.hub.url}hub/login", data=form).raise_for_status()
        deadline = time.monotonic() + PATIENCE
        while "jupyter-config-data" not in (page := self.client.get(f"{self.home}lab")).text:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no JupyterLab for {self.name_}: {page.status_code}")
            time.sleep(0.5)

    def token(self, path):
        cookies = [cookie for cookie in self.client.cookies.jar if cookie.name == "_xsrf"]
        return max(cookies, key=lambda cookie: cookie.path == path).value

    def request(self, method, path, body=None):
        head = {"X-XSRFToken": self.token(f"/user/{self.name_}/")}
        answer = self.client.request(method, self.home + path, json=body, headers=head)
        if answer.is_error:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
        return answer.json()

    def open_set(self):
        self.request("GET", "roofline/home?ask_class=1")
        self.request("POST", "roofline/fetch", {"name": SET})
        self.notebook = self.request("GET", f"api/contents/{PLACE}?content=1")

    def run_cell(self):
        """Start the set's kernel and run its first code cell."""
        kernel = self.request("POST", "api/sessions", {
            "path": PLACE, "name": SET, "type": "notebook", "kernel": {"name": "python3"},
        })["kernel"]["id"]  # fmt: skip
        session = uuid.uuid4().hex
        address = f"{self.home}api/kernels/{kernel}/channels?session_id={session}"
        cookies = self.client.build_request("GET", address).headers["Cookie"]
        cells = self.notebook["content"]["cells"]
        code = next(cell["source"] for cell in cells if cell["cell_type"] == "code")
        message = {
            "header": {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "username": "",
                       "session": session, "version": "5.3", "date": ""},
            "parent_header": {}, "metadata": {}, "channel": "shell", "buffers": [],
            "content": {"code": code, "silent": False, "store_history": True,
                        "user_expressions": {}, "allow_stdin": False, "stop_on_error": True},
        }  # fmt: skip
        self.socket = websocket.create_connection(
            address.replace("http:", "ws:"), cookie=cookies, timeout=PATIENCE,
            origin=self.home.partition("/user/")[0],
        )  # fmt: skip
        self.socket.send(json.dumps(message))
        while (reply := json.loads(self.socket.recv()))["msg_type"] != "execute_reply":
            pass
        if reply["content"]["status"] != "ok":
            raise RuntimeError(f"the first cell failed: {reply['content']}")

    def hand_in(self):
        cells = self.notebook["content"]["cells"]
        me = next(cell for cell in cells if cell["source"].startswith("me = "))
        me["source"] = f'me = "{self.name_}"'
        self.request("PUT", f"api/contents/{PLACE}", {
            "type": "notebook", "format": "json", "content": self.notebook["content"],
        })  # fmt: skip
        body = {"name": SET, "path": PLACE, "unfinished": True}
        report = self.request("POST", "roofline/hand-in", body)
        if report["state"] != "submitted":
            raise RuntimeError(f"not handed in: {report}")


def memory(hub):
    """Return the memory (PSS, in bytes) of the hub's processes, by account and kind."""
    sizes = defaultdict(lambda: defaultdict(int))
    processes = hub.box.run("ps", "-eo", "pid=,user:32=,args=").stdout
    for line in processes.splitlines():
        pid, user, command = line.split(None, 2)
        rollup = hub.box.run("cat", f"/proc/{pid}/smaps_rollup", check=False).stdout
        pss = [int(row.split()[1]) * 1024 for row in rollup.splitlines() if row.startswith("Pss:")]
        if "ipykernel" in command:
            kind = "kernel"
        elif "jupyterhub-singleuser" in command:
            kind = "server"
        else:
            kind = "other"
        sizes[user][kind] += sum(pss)
    return sizes


def busy():
    """Return the total CPU seconds of all processes on this machine."""
    user, nice, system, *_ = map(int, Path("/proc/stat").read_text().split()[1:5])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def lost(hub, names):
    """List the students who do not have exactly one hand-in, with their name, in the exchange."""
    inbound = DATA / "exchange/roofline/inbound"
    command = f"cd {inbound} && grep -l 'me = ' */{SET}.ipynb; grep -ho 'me = [^ ,]*' */{SET}.ipynb"
    output = hub.box.run("bash", "-c", command).stdout
    return [
        name for name in names
        if output.count(f"{name}+{SET}+") != 1 or output.count(f'me = \\"{name}\\"') != 1
    ]  # fmt: skip


def spread(values):
    """Return the median, the 90th percentile and the maximum."""
    ordered = sorted(values)
    return statistics.median(ordered), ordered[int(0.9 * (len(ordered) - 1))], ordered[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--users", type=int, default=10, choices=range(1, 101), metavar="1-100")
    users = parser.parse_args().users
    if os.geteuid() != 0:
        sys.exit("This benchmark creates accounts, so run it with sudo.")
    names = [f"student{number:03}" for number in range(users)]
    print(f"load of this machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        hub = Hub(Path(folder), names)
        try:
            report(hub, names)
        finally:
            hub.close()


def report(hub, names):
    teaching = f"/home/{hub.teacher}/roofline/teaching"
    hub.box.run("nbgrader", "release_assignment", SET, user=hub.teacher, cwd=teaching)
    start, worked = time.monotonic() + 1, busy()
    people = [Person(hub, name, start + MINUTE * n / len(names)) for n, name in enumerate(names)]
    for person in people:
        person.start()
    for person in people:
        person.join(4 * PATIENCE)
    print(f"all done after {time.monotonic() - start:.0f} s; load {os.getloadavg()[0]:.1f}")
    print(f"{(busy() - worked) / len(names):.1f} s of processor time a user, of all that ran here")
    failed = [f"{person.name_}: {person.error!r}" for person in people
              if person.error or person.is_alive()]  # fmt: skip
    for step in ("sign_in", "open_set", "run_cell", "hand_in"):
        seconds = [person.times[step] for person in people if step in person.times]
        if seconds:
            middle, nine, most = spread(seconds)
            print(f"{step:9} median {middle:6.1f} s, 9 of 10 below {nine:6.1f}, most {most:6.1f}")
    sizes = memory(hub)
    for kind in ("server", "kernel", "other"):
        megabytes = [sizes[name][kind] / 1e6 for name in names]
        print(f"{kind:9} median {statistics.median(megabytes):6.0f} MB a user")
    whole = [sum(sizes[name].values()) / 1e6 for name in names]
    print(f"a user    median {statistics.median(whole):6.0f} MB, most {max(whole):.0f}")
    print(f"hub {sum(sizes['root'].values()) / 1e6:.0f} MB, "
          f"proxy {sum(sizes['roofline'].values()) / 1e6:.0f} MB")  # fmt: skip
    missing = lost(hub, names)
    print(f"{len(names) - len(missing)} of {len(names)} hand-ins are in the exchange, each whole")
    if failed or missing:
        sys.exit("\n".join([*failed, f"lost: {missing}"]))


if __name__ == "__main__":
    main()
