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
    """The address that the command opens, and the lines that it prints: in the end, all of them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lab = subprocess.Popen(
        [*command, "--browser", "none", "--port", str(port)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options,
    )  # fmt: skip
    printed = []
    try:
        while not (address := re.search(rf"http://\S+:{port}/lab\S+", "".join(printed[-1:]))):
            line = lab.stdout.readline()
            assert line, "".join(printed)
            printed.append(line)
        assert answers(address[0]), "printed its address and then did not answer"
        yield address[0], printed
    finally:
        lab.terminate()  # which ends its kernels first
        try:
            rest, _ = lab.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            lab.kill()
            rest, _ = lab.communicate()
        printed += rest.splitlines(keepends=True)


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


def noise(printed):
    """Lines of a terminal that a person would take for a warning or an error, or need not read."""
    return re.findall(r"^\[(?!C )\w.*|.*(?i:warning|error|traceback).*", printed, re.M)
