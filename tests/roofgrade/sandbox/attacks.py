"""What hostile cells try, and what comes of it."""

LIBC = "import ctypes, os, socket, struct, sys, time\nlibc = ctypes.CDLL(None, use_errno=True)\n"
# Messages that the student's code sends to the worker as the machinery itself would.
FORGE = """
import os, struct
def forge(text):
    data = text.encode()
    os.write(3, struct.pack("!I", len(data)) + data)
"""

# A cell and what it says; nothing worse comes of it.
DENIED = {
    "the internet": (
        "import socket\nsocket.create_connection(('1.1.1.1', 53), timeout=2)",
        "Network is unreachable",
    ),
    "the host by loopback": (
        "import socket\nsocket.create_connection(('127.0.0.1', 22), timeout=2)",
        "Network is unreachable",
    ),
    "vsock": ("import socket\nsocket.socket(40)", "Function not implemented"),
    "netlink": ("import socket\nsocket.socket(16)", "Function not implemented"),
    "packets": ("import socket\nsocket.socket(17, 3)", "Function not implemented"),
    "namespaces by clone": (
        f"{LIBC}print(libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0), ctypes.get_errno())",
        "-1 38",
    ),
    "namespaces by a tool": ("!unshare -U id", "Function not implemented"),
    "the limit on namespaces": (
        "open('/proc/sys/user/max_user_namespaces', 'w')",
        "FileNotFoundError",
    ),
    "other processes": (
        "import os\nprint(sorted(name for name in os.listdir('/proc') if name.isdigit()))",
        r"\['1'\]",
    ),
    "the kernel's files": ("import os\nprint(os.path.exists('/proc/kallsyms'))", "False"),
    "signals to everybody": ("import os\nos.kill(-1, 9)", "No such process"),
    "signals to its group": ("import os\nos.kill(0, 9)\nprint('here')", "here"),
    "signals to its parent": (
        "import os\nprint(os.getppid())\nfor signal in (9, 15, 19): os.kill(os.getppid(), signal)",
        "0\n",
    ),
    "stopping itself": ("import os, signal\nos.kill(1, signal.SIGSTOP)\nprint('here')", "here"),
    "the neighbours' cores": (
        "import os\nprint(len(os.sched_getaffinity(0)))\nos.sched_setaffinity(0, range(64))",
        r"^1\s+OSError.*Function not implemented",
    ),
    "signals without end": (
        "import os, signal\nprint(signal.setitimer(signal.ITIMER_REAL, 0))\n"
        "signal.signal(signal.SIGALRM, signal.SIG_IGN)\n"
        "for _ in range(10_000): os.kill(1, signal.SIGALRM)\nprint('here')",
        "here",
    ),
    "forks without end": (
        "import os, time\nfor _ in range(1000):\n    if not os.fork():\n        time.sleep(100)",
        "BlockingIOError",
    ),
    "threads without end": (
        "import threading\nstay = threading.Event()\n"
        "for _ in range(1000): threading.Thread(target=stay.wait, daemon=True).start()",
        "can't start new thread",
    ),
    "much memory at once": ("x = bytearray(2 << 30)", "MemoryError"),
    "a full folder": (
        "import os\nfor n in range(100):\n    with open(f'/tmp/{n}', 'wb') as file:\n"
        "        file.write(bytes(8 << 20))",
        "No space left",
    ),
    "a full home": (
        "for n in range(100):\n    with open(f'{n}', 'wb') as file:\n"
        "        file.write(bytes(8 << 20))",
        "No space left",
    ),
    "full shared memory": (
        "for n in range(100):\n    with open(f'/dev/shm/{n}', 'wb') as file:\n"
        "        file.write(bytes(8 << 20))",
        "No space left",
    ),
    "many small files": (
        "for n in range(100_000): open(f'{n}', 'w').close()",
        "No space left",
    ),
    "one large file": (
        "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "with open('/tmp/x', 'wb') as file:\n    file.truncate(1 << 40)",
        "File too large",
    ),
    "terminals without end": (
        "import os\nkept = []\nfor _ in range(1000): kept.append(os.openpty())",
        "Too many open files",
    ),
    "programs of its own": (
        "open('x', 'w').write('#!/bin/sh')\n!chmod +x x && ./x",
        "Permission denied",
    ),
    "the environment": (
        "import os\nprint('SECRET' in str(os.environ), "
        "b'SECRET' in open('/proc/1/environ', 'rb').read())",
        "False False",
    ),
    "the questions": ("import roofcheck.questions", "ModuleNotFoundError"),
    "the judge": ("import roofcheck.kinds", "ModuleNotFoundError"),
    "the grader": ("import roofgrade.course", "ModuleNotFoundError"),
    "devices": (
        "import os\nprint(sorted(os.listdir('/dev')))",
        r"\['core', 'fd', 'full', 'null', 'ptmx', 'pts', 'random', 'shm', 'stderr', 'stdin', "
        r"'stdout', 'tty', 'urandom', 'zero'\]",
    ),
    "a device of its own": (
        "import os\nos.mknod('disk', 0o60666, os.makedev(254, 0))",
        "Function not implemented",
    ),
    "the terminal of whoever grades": ("open('/dev/tty')", "No such device or address"),
    "the root of the host": (
        "import os\nprint(sorted(os.listdir('/')), os.listdir('/proc/1/root') == os.listdir('/'))",
        r"^\['bin', 'dev', 'etc', 'home', 'lib', 'lib64', 'opt', 'proc', .*'usr'\] True",
    ),
    "remounting": ("!mount -o remount,rw /", "Function not implemented"),
    "the environment's own files": (
        "import numpy\nopen(numpy.__file__, 'a')",
        "Permission denied|Read-only file system",
    ),
    "matplotlib's cache": (
        "import matplotlib\nopen(matplotlib.get_cachedir() + '/x', 'w')",
        "Read-only file system",
    ),
}

# A cell after which the process makes no sense, and what a person reads of it.
ENDING = {
    "os._exit": ("import os\nos._exit(0)", "a crash, or a call that ends Python"),
    "a crash": ("import ctypes\nctypes.string_at(0)", "a crash, or a call that ends Python"),
    "a closed channel": ("import os\nos.close(3)", "a crash, or a call that ends Python"),
    "a reply that is none": (f"{FORGE}forge('[]')", "nonsense"),
    "a reply of another kind": (f'{FORGE}forge(\'{{"answer": {{}}, "count": 1}}\')', "nonsense"),
    "a reply that is no JSON": (f"{FORGE}forge('{{')", "nonsense"),
    "a reply in no encoding": (
        "import os\nos.write(3, b'\\0\\0\\0\\2\\xff\\xff')",
        "nonsense",
    ),
    "a number that is true": (
        f'{FORGE}forge(\'{{"outputs": [], "count": true}}\')',
        "nonsense",
    ),
    "a number without end": (
        f'{FORGE}forge(\'{{"outputs": [], "count": 1\' + "0" * 10_000 + \'}}\')',
        "nonsense",
    ),
    "a number too large": (
        f'{FORGE}forge(\'{{"outputs": [], "count": 1000000}}\')',
        "nonsense",
    ),
    "a deep reply": (f"{FORGE}forge('[' * 1_000_000)", "nonsense"),
    "a reply that is deep enough": (
        f'{FORGE}forge(\'{{"outputs": [], "count": 1, "x": \' + "[" * 200 + "]" * 200 + "}}")',
        "nonsense",
    ),
    "a huge reply": ("import os\nos.write(3, b'\\x7f\\xff\\xff\\xff')", "put out too much"),
    "many large replies": (
        f"{FORGE}text = '{{\"ask\": {{}}, \"x\": \"' + 'x' * 1_000_000 + '\"}}'\n"
        "import os, struct, threading\n"
        "data = struct.pack('!I', len(text)) + text.encode()\n"
        "for _ in range(30):\n    left = data\n    while left: left = left[os.write(3, left):]\n",
        "put out too much",
    ),
    "questions without end": (
        "import roofcheck\nfor _ in range(1001): roofcheck.request({})",
        "asked for too much",
    ),
    "a question that is none": ("import roofcheck\nroofcheck.request(1)", "too much"),
    "i386 system calls": (
        "import ctypes, mmap\n"
        "page = mmap.mmap(-1, 4096, prot=7)\n"
        "page.write(bytes.fromhex('b814000000cd80c3'))\n"
        "ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()",
        "a crash, or a call that ends Python",
    ),
}

# A cell that tries to harm those after it in the same notebook, and does not.
HARMLESS = {
    "patched json": "import json\njson.dumps = json.loads = None",
    "patched float": "import builtins\nbuiltins.float = lambda *a: 1.0",
    "a trace": "import sys\nsys.settrace(lambda *a: None)",
    "an ignored interrupt": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)",
    "a replaced shell": (
        "shell = type(get_ipython())\n"
        "shell.run_cell = shell.transform_cell = shell.showtraceback = None"
    ),
    "closed streams": "import os, sys\nos.close(0)\nsys.stdout = None",
    "an altered alarm": "import gc, threading\ngc.disable()\nthreading.Timer(0, print).start()",
    "exit": "exit()",
    "sys.exit": "import sys\nsys.exit(3)",
    "a raised interrupt": "raise KeyboardInterrupt",
    "another folder": "import os\nos.chdir('/')",
    "descriptors sent back": (
        "import array, os, socket\nfd = os.dup(3)\nsocket.socket(fileno=fd).sendmsg("
        "[b''], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0, 1, 2]))])"
    ),
    "signals for the channel's owner": (
        "import fcntl, os\nfcntl.fcntl(3, fcntl.F_SETOWN, -1)\nfcntl.fcntl(3, fcntl.F_SETFL, "
        "fcntl.fcntl(3, fcntl.F_GETFL) | os.O_ASYNC)"
    ),
}
