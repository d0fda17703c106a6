"""A cell puts out in the sandbox what it puts out under a kernel."""

import os
import re

import nbformat
import pytest
from nbclient import NotebookClient
from words import said

from roofgrade.sandbox.inside.recorder import MOST_OF_STREAM

TRUNCATED = "\n... Output truncated ...\n"
DROPPED = "... An output was too large and was omitted ...\n"
CELLS = [
    "1 + 1", "x = 3\nx;",
    "print('a')\nprint('b', end='')\nimport sys\nprint('c', file=sys.stderr)",
    "_ + _2 if '_2' in globals() else (_, In[1], Out[1])",
    "1 / 0",
    "def f(n):\n    return g(n)\ndef g(n):\n    raise KeyError(n)\nf(3)",
    "x = = 1", "if True:\nprint()",
    "import asyncio\nawait asyncio.sleep(0.01)\nprint('slept')",
    "later = asyncio.ensure_future(asyncio.sleep(0.01, 'done'))",
    "await later",
    "%%capture kept\nprint('hidden')",
    "%lsmagic_that_is_none",
    "!echo from the shell; exit 3",
    "lines = !printf 'a\\nb'\nlines",
    "%%bash\necho bash; echo worse >&2",
    "import subprocess, time\nsubprocess.run(['echo', 'past Python'])\ntime.sleep(0.5)",
    "from IPython.display import HTML, clear_output, display\ndisplay(HTML('<b>a</b>'), 2)",
    "shown = display('old', display_id='mine')\nshown.update('new')",
    "print('gone')\nclear_output()\nprint('stays')",
    "print('gone')\nclear_output(wait=True)\nprint('stays')",
    "import numpy as np\nnp.linspace(0, 1, 3)",
    "import warnings\nwarnings.warn('careful')",
    "import sys\nsys.exit(3)", "raise KeyboardInterrupt",
    "class Rich:\n    def _repr_html_(self): return '<i>rich</i>'\nRich()",
    "class Broken:\n    def __repr__(self): raise ValueError('no')\nBroken()",
    "import ipywidgets\nipywidgets.IntSlider(3)",
    "import anywidget\nclass Wide(anywidget.AnyWidget):\n    _esm = 'export default {}'\nWide()",
    "type(get_ipython()).__name__, 'IPKernelApp' in get_ipython().config",
    "?print", "%matplotlib inline",
    "import matplotlib.pyplot as plt\nplt.plot([1, 2])",
    "__name__, __doc__ is None or 'Automatically' in __doc__",
    "import pickle\nclass Kept: pass\npickle.loads(pickle.dumps(Kept())).__class__ is Kept",
    "import os\nos.write(1, b'raw')\ntime.sleep(0.5)",
    "1",
]  # fmt: skip
# What differs from run to run, or by where Python lies.
VARIES = (
    (r"\x1b\[[0-9;]*m", ""), (r"0x[0-9a-f]+", "0x"),
    (r"(?:[0-9.]+(?:e\+)?[0-9]*|<) ?(?:ns|μs|µs|ms|s)\b", "TIME"),
    (r"(/tmp/ipykernel_\d+/)?\d+\.py", "CELL"),
    (r"(/[^ :]*)?/(lib/python3|site-packages)[^ :]*", "FILE"),
    (r"(model_id': '|layout=Layout\(|IPY_MODEL_)[0-9a-f]*", "MODEL"),
    (r"<IPython.core.autocall[^>]*>|<ipykernel.zmqshell[^>]*>|<bound method[^>]*>", "EXIT"),
)  # fmt: skip


def plainly(output):
    """An output as it can be compared: what a student reads, and of pictures that they are."""
    kind = output["output_type"]
    if kind == "stream":
        return output["name"], _fixed(output["text"])
    if kind == "error":
        traceback = "\n".join(output["traceback"])
        return kind, output["ename"], _fixed(output["evalue"]), _fixed(traceback)
    data = {
        name: _fixed(value) if name.startswith("text/") else bool(value)
        for name, value in output["data"].items()
    }
    return kind, data


def _fixed(text):
    for pattern, plain in VARIES:
        text = re.sub(pattern, plain, text)
    return text


@pytest.fixture(scope="module")
def kernel():
    """What a kernel puts out for each of the cells."""
    os.environ.pop("PYTEST_CURRENT_TEST")  # where it is set, a kernel does not watch descriptors
    # What goes past Python a kernel sees some time after, and drops once the cell has ended.
    for seconds in ("0.5", "5", "50"):
        cells = [cell.replace("sleep(0.5)", f"sleep({seconds})") for cell in CELLS]
        notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, cells)])
        NotebookClient(notebook, allow_errors=True, timeout=600, startup_timeout=300).execute()
        found = [[plainly(output) for output in cell.outputs] for cell in notebook.cells]
        if all(text in str(found) for text in ("past Python", "raw")):
            break
    return found


@pytest.fixture(scope="module")
def sandbox(box):
    """What the sandbox puts out for each of them."""
    found = []
    with box.open({}) as child:
        for number, cell in enumerate(CELLS, 1):
            reply, slow = child.run(cell)
            assert not slow
            assert reply["count"] == number, cell
            found.append([plainly(output) for output in updated(reply["outputs"])])
    return found


def updated(outputs):
    """The outputs of one cell, with their changes made."""
    shown = {}
    for output in outputs:
        if output["output_type"] == "update":
            shown[output["display_id"]]["data"] = output["data"]
        else:
            shown[output.get("display_id", len(shown))] = output
    return shown.values()


@pytest.mark.parametrize("number", range(len(CELLS)), ids=CELLS)
def test_a_cell_puts_out_the_same_as_under_a_kernel(kernel, sandbox, number):
    assert sandbox[number] == kernel[number]


@pytest.mark.parametrize("source", [
    "%matplotlib widget", "%matplotlib no-such-backend", "%pylab",
    "import matplotlib.pyplot as plt\nplt.switch_backend('ipympl')",
])  # fmt: skip
def test_every_backend_is_inline(child, source):
    reply, _ = child.run(source)
    assert "error" not in {output["output_type"] for output in reply["outputs"]}
    reply, _ = child.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nNone")
    [output] = reply["outputs"]
    assert set(output["data"]) == {"text/plain", "image/png"}


@pytest.mark.parametrize("source", ["exit()", "quit()", "exit", "import os\nos.kill(0, 0)"])
def test_exit_and_quit_end_nothing(child, source):
    assert child.run(source)[0]["count"] == 1
    assert said(child.run("'here'")[0]) == "'here'"


@pytest.mark.slow("output without end stops no grading")
def test_much_output_is_cut(child):
    reply, slow = child.run("for n in range(300_000): print(n)")
    assert not slow
    [output] = reply["outputs"]
    assert output["text"].endswith(TRUNCATED)
    assert len(output["text"]) == MOST_OF_STREAM + len(TRUNCATED)
    reply, _ = child.run("import os\nos.system('yes | head -c 3000000')\nNone")
    assert len(reply["outputs"][0]["text"]) == MOST_OF_STREAM + len(TRUNCATED)
    reply, _ = child.run(
        "from IPython.display import HTML, display\n"
        "for _ in range(10): display(HTML('x' * 1_000_000))"
    )
    assert [output["output_type"] for output in reply["outputs"]] == ["display_data"] * 3 + [
        "stream"
    ]
    assert reply["outputs"][-1]["text"] == DROPPED
    assert said(child.run("'and on'")[0]) == "'and on'"


def test_a_display_of_an_earlier_cell_is_named_when_it_changes(child):
    child.run("from IPython.display import display\nshown = display('old', display_id='mine')")
    [output] = child.run("shown.update('new')")[0]["outputs"]
    assert (output["output_type"], output["display_id"]) == ("update", "mine")
    assert output["data"] == {"text/plain": "'new'"}


def test_what_json_cannot_hold_goes_as_text(child):
    reply, _ = child.run(
        "from IPython.display import display\n"
        "display({'text/plain': chr(0xd800), 'application/json': {1, 2}}, raw=True)"
    )
    assert reply["outputs"][0]["data"] == {"text/plain": "?", "application/json": "{1, 2}"}


def test_numbers_are_drawn_anew_for_each_submission(box):
    found = []
    for _ in range(2):
        with box.open({}) as child:
            found.append(
                said(child.run("import random, numpy\nrandom.random(), numpy.random.rand()")[0])
            )
    assert found[0] != found[1]


@pytest.mark.parametrize("source", ["input('your name? ')", "import getpass\ngetpass.getpass()"])
def test_there_is_nobody_to_ask(child, source):
    [output] = child.run(source)[0]["outputs"]
    assert output["ename"] == "StdinNotImplementedError"
    assert output["evalue"].endswith("this frontend does not support input requests.")
