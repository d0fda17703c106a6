"""Start JupyterLab by one of the course's commands, and wait until it answers."""

import contextlib
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request


@contextlib.contextmanager
def opened(command, **options):
    """The address that the command opens, and what it printed until then."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lab = subprocess.Popen(
        [*command, "--browser", "none", "--port", str(port)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options,
    )  # fmt: skip
    printed = ""
    try:
        while not (address := re.search(rf"http://\S+:{port}/lab\S+", printed)):
            line = lab.stdout.readline()
            assert line, printed
            printed += line
        assert answers(address[0]), "printed its address and then did not answer"
        yield address[0], printed
    finally:
        # No kernel runs yet, so there is nothing to end in good order.
        lab.kill()
        lab.communicate()


def answers(address, patience=300):
    """Whether a page is there, soon: Jupyter prints the address a moment before it listens."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            return urllib.request.urlopen(address, timeout=patience).status == 200
        except urllib.error.HTTPError:
            return False
        except urllib.error.URLError:
            time.sleep(0.1)
    return False
