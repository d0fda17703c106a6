"""What hostile cells try, and what comes of it."""

LIBC = "import ctypes, os, socket, struct, sys, time\nlibc = ctypes.CDLL(None, use_errno=True)\n"
# Messages that the student's code sends to the worker as the machinery itself would.
FORGE = """
import os, struct
def forge(text):
    data = text.encode()
    os.write(3, struct.pack("!I", len(data)) + data)
"""

# What a cell says, by the name of the attack; nothing worse comes of it.
DENIED = {
    "Network is unreachable": {
        "the internet": "import socket\nsocket.create_connection(('1.1.1.1', 53), timeout=2)"
    },
    "Function not implemented": {
        "vsock": "import socket\nsocket.socket(40)",
        "packets": "import socket\nsocket.socket(17, 3)",
        "namespaces by a tool": "!unshare -U id",
        "a large socket": (
            "import socket\nx = socket.socket(socket.AF_UNIX)\n"
            "x.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)"
        ),
        "a lease": (
            "import fcntl\nwith open('x', 'w') as file: fcntl.fcntl(file, fcntl.F_SETLEASE, 0)"
        ),
        "a device of its own": "import os\nos.mknod('disk', 0o60666, os.makedev(254, 0))",
        "remounting": "!mount -o remount,rw /",
    },
    "-1 38": {
        "namespaces by clone": (
            f"{LIBC}print(libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0), ctypes.get_errno())"
        )
    },
    "FileNotFoundError": {
        "the limit on namespaces": "open('/proc/sys/user/max_user_namespaces', 'w')"
    },
    r"\['1'\]": {
        "other processes": (
            "import os\nprint(sorted(name for name in os.listdir('/proc') if name.isdigit()))"
        )
    },
    "No such process": {"signals to everybody": "import os\nos.kill(-1, 9)"},
    "here": {
        "signals to its group": "import os\nos.kill(0, 9)\nprint('here')",
        "stopping itself": "import os, signal\nos.kill(1, signal.SIGSTOP)\nprint('here')",
        "signals without end": (
            "import os, signal\nprint(signal.setitimer(signal.ITIMER_REAL, 0))\n"
            "signal.signal(signal.SIGALRM, signal.SIG_IGN)\n"
            "for _ in range(10_000): os.kill(1, signal.SIGALRM)\nprint('here')"
        ),
    },
    "0\n": {
        "signals to its parent": (
            "import os\nprint(os.getppid())\n"
            "for signal in (9, 15, 19): os.kill(os.getppid(), signal)"
        )
    },
    r"^1\s+OSError.*Function not implemented": {
        "the neighbours' cores": (
            "import os\nprint(len(os.sched_getaffinity(0)))\nos.sched_setaffinity(0, range(64))"
        )
    },
    "BlockingIOError": {
        "forks without end": (
            "import os, time\nfor _ in range(1000):\n    if not os.fork():\n        time.sleep(100)"
        )
    },
    "can't start new thread": {
        "threads without end": (
            "import threading\nstay = threading.Event()\n"
            "for _ in range(1000): threading.Thread(target=stay.wait, daemon=True).start()"
        )
    },
    "MemoryError": {"much memory at once": "x = bytearray(2 << 30)"},
    "Cannot allocate memory": {
        "much shared memory at once": "import mmap\nx = mmap.mmap(-1, 1 << 30)",
        "a device's memory": (
            "import mmap\nwith open('/dev/zero', 'r+b') as file: mmap.mmap(file.fileno(), 1 << 30)"
        ),
    },
    "Resource temporarily unavailable": {
        "many waiting connections": (
            "import socket\nx = socket.socket(socket.AF_UNIX)\nx.bind('\\0x')\nx.listen(4096)\n"
            "for _ in range(100):\n    with socket.socket(socket.AF_UNIX) as y:\n"
            "        y.setblocking(False)\n        y.connect('\\0x')"
        )
    },
    "7 and nothing was locked": {
        "locks without end": (
            "import fcntl, os\nwith open('x', 'w') as file:\n    fcntl.lockf(file, fcntl.LOCK_EX)\n"
            "    if not os.fork():\n        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
            "        os._exit(7)\n    print(os.WEXITSTATUS(os.wait()[1]), 'and nothing was locked')"
        )
    },
    "No space left": {
        "many small files": "for n in range(100_000): open(f'{n}', 'w').close()",
        "a full folder": (
            "import os\nfor n in range(100):\n    with open(f'/tmp/{n}', 'wb') as file:\n"
            "        file.write(bytes(8 << 20))"
        ),
        "a full home": (
            "for n in range(100):\n    with open(f'{n}', 'wb') as file:\n"
            "        file.write(bytes(8 << 20))"
        ),
        "full shared memory": (
            "for n in range(100):\n    with open(f'/dev/shm/{n}', 'wb') as file:\n"
            "        file.write(bytes(8 << 20))"
        ),
    },
    "File too large": {
        "one large file": (
            "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "with open('/tmp/x', 'wb') as file:\n    file.truncate(1 << 40)"
        )
    },
    "No space left on device": {
        "terminals without end": (
            "import os\nkept = []\nfor _ in range(1000): kept.append(os.openpty())"
        )
    },
    "Permission denied": {
        "programs of its own": "open('x', 'w').write('#!/bin/sh')\n!chmod +x x && ./x"
    },
    "False False": {
        "the environment": (
            "import os\nprint('SECRET' in str(os.environ), "
            "b'SECRET' in open('/proc/1/environ', 'rb').read())"
        )
    },
    "ModuleNotFoundError": {"the questions": "import roofcheck.questions"},
    r"\['core', 'fd', 'full', 'null', 'ptmx', 'pts', 'random', 'shm', 'stderr', 'stdin', "
    r"'stdout', 'tty', 'urandom', 'zero'\]": {
        "devices": "import os\nprint(sorted(os.listdir('/dev')))"
    },
    "No such device or address": {"the terminal of whoever grades": "open('/dev/tty')"},
    r"^\['bin', 'dev', 'etc', 'home', 'lib', 'lib64', 'opt', 'proc', .*'usr'\] True": {
        "the root of the host": (
            "import os\n"
            "print(sorted(os.listdir('/')), os.listdir('/proc/1/root') == os.listdir('/'))"
        )
    },
    "Permission denied|Read-only file system": {
        "the environment's own files": "import numpy\nopen(numpy.__file__, 'a')"
    },
    "Read-only file system": {
        "matplotlib's cache": "import matplotlib\nopen(matplotlib.get_cachedir() + '/x', 'w')"
    },
}

# A cell that holds 400 MB and more, in its processes or for them.
HOARDS = {
    "memory of many": (
        "import os, time\nfor _ in range(9):\n    if not os.fork():\n"
        "        held = bytearray(b'x') * (80 << 20)\n        time.sleep(300)"
    ),
    "shared memory": (
        "import mmap\nheld = [mmap.mmap(-1, 10 << 20) for _ in range(50)]\n"
        "for each in held: each.write(bytes(10 << 20))"
    ),
    "a process without its first thread": (
        "import ctypes, os, threading, time\ngone = threading.Event()\ndef hold():\n"
        "    gone.wait()\n    held = bytearray(b'x') * (500 << 20)\n    time.sleep(300)\n"
        "if not os.fork():\n    threading.Thread(target=hold).start()\n    gone.set()\n"
        "    ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0)"
    ),
    "sockets that nobody reads": (
        "import os, socket, time\ndef fill(kept):\n    while True:\n"
        "        kept += socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "        kept[-1].setblocking(False)\n        try:\n"
        "            while True: kept[-1].send(bytes(100_000))\n"
        "        except BlockingIOError: pass\n"
        "for _ in range(30):\n    if not os.fork():\n        kept = []\n"
        "        try: fill(kept)\n        except OSError: time.sleep(300)"
    ),
    "connections that nobody takes": (
        "import socket\nkept = []\nfor number in range(100):\n"
        "    kept.append(socket.socket(socket.AF_UNIX))\n    kept[-1].bind(f'\\0{number}')\n"
        "    kept[-1].listen()\n    for _ in range(16):\n"
        "        with socket.socket(socket.AF_UNIX) as other:\n"
        "            other.setblocking(False)\n            other.connect(f'\\0{number}')\n"
        "            try:\n                while True: other.send(bytes(100_000))\n"
        "            except BlockingIOError: pass"
    ),
    "mappings without end": (
        "import ctypes, os, time\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n"
        "at = libc.mmap(None, ctypes.c_size_t(60_000 << 12), 1, 0x22, -1, 0)\n"
        "for page in range(0, 60_000, 2):\n"
        "    libc.mprotect(ctypes.c_void_p(at + (page << 12)), 4096, 0)\n"
        "for _ in range(12):\n    if not os.fork(): time.sleep(300)"
    ),
}

# A cell after which the process makes no sense, by what a person reads of it.
ENDING = {
    "crashed, or its code ended Python": {
        "a crash": "import ctypes\nctypes.string_at(0)",
        "a closed channel": "import os\nos.close(3)",
        "i386 system calls": (
            "import ctypes, mmap\n"
            "page = mmap.mmap(-1, 4096, prot=7)\n"
            "page.write(bytes.fromhex('b814000000cd80c3'))\n"
            "ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()"
        ),
    },
    "invalid": {
        "a reply that is none": f"{FORGE}forge('[]')",
        "a reply that is no JSON": f"{FORGE}forge('{{')",
        "a reply in no encoding": "import os\nos.write(3, b'\\0\\0\\0\\2\\xff\\xff')",
        "a number that is true": f'{FORGE}forge(\'{{"outputs": [], "count": true}}\')',
        "a number without end": (
            f'{FORGE}forge(\'{{"outputs": [], "count": 1\' + "0" * 10_000 + \'}}\')'
        ),
        "a number too large": f'{FORGE}forge(\'{{"outputs": [], "count": 1000000}}\')',
        "a reply of another kind": f'{FORGE}forge(\'{{"answer": {{}}, "count": 1}}\')',
        "a deep reply": f"{FORGE}forge('[' * 1_000_000)",
    },
    "produced too much output": {
        "a huge reply": "import os\nos.write(3, b'\\x7f\\xff\\xff\\xff')",
        "many large replies": (
            f"{FORGE}text = '{{\"ask\": {{}}, \"x\": \"' + 'x' * 1_000_000 + '\"}}'\n"
            "import os, struct, threading\n"
            "data = struct.pack('!I', len(text)) + text.encode()\n"
            "for _ in range(30):\n    left = data\n"
            "    while left: left = left[os.write(3, left):]\n"
        ),
    },
    "made too many requests": {
        "questions without end": "import roofcheck\nfor _ in range(1001): roofcheck.request({})"
    },
    "too many requests": {"a question that is none": "import roofcheck\nroofcheck.request(1)"},
}

# A cell that tries to harm those after it in the same notebook, and does not.
HARMLESS = {
    "patched json": "import json\njson.dumps = json.loads = None",
    "a trace": "import sys\nsys.settrace(lambda *a: None)",
    "an ignored interrupt": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)",
    "a replaced shell": (
        "shell = type(get_ipython())\n"
        "shell.run_cell = shell.transform_cell = shell.showtraceback = None"
    ),
    "closed streams": "import os, sys\nos.close(0)\nsys.stdout = None",
    "an altered alarm": "import gc, threading\ngc.disable()\nthreading.Timer(0, print).start()",
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
