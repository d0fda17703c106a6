"""A class as it comes: good work in every style, accidents of every editor, and some malice.

Each submission to problem set 1 is a function that does something to good work, and says which
machine points it deserves and what has to become of it.
"""

import json
import os
from dataclasses import dataclass, field

import nbformat
from homework import ROOT

FULL = 22
ANSWERS = {
    "ps1-me": 'me = "{student}"',
    "ps1-ridge": "ridge = 309.7e12 / 2 / 768e9",
    "ps1-time": 'time_us = 1e6 * max(4.0e11 / rk.chip("H200").peak_flops("bf16"), 2.4e9 / 4.8e12)',
    "ps1-bound": 'bound = "compute"',
    "ps1-order": 'lowest_first = sorted(["H100 SXM", "TPU v5e", "A100 80GB SXM", "TPU v6e", '
    '"A100 40GB SXM"], key=lambda name: rk.chip(name).roofline("bf16").ridge)',
    "ps1-chain": 'chain = "BDCAE"',
    "ps1-mine": "chip = rk.chip(given.chip)\n"
    'saved_us = 1e6 * min(given.flops / chip.peak_flops("bf16"), given.moved / chip.bandwidth)',
    "ps1-attainable": "def attainable(intensity, peak_flops, bandwidth):\n"
    "    return min(peak_flops, intensity * bandwidth)",
    "ps1-bracket": "def bracket(flops, bytes_moved, peak_flops, bandwidth):\n"
    "    t_math, t_comms = flops / peak_flops, bytes_moved / bandwidth\n"
    "    return max(t_math, t_comms), t_math + t_comms",
    "ps1-paragraph": "Compare the intensity with the ridge.",
}
POINTS = {
    "ps1-ridge": 2, "ps1-time": 2, "ps1-bound": 2, "ps1-order": 3, "ps1-chain": 2, "ps1-mine": 3,
    "ps1-attainable": 4, "ps1-bracket": 4,
}  # fmt: skip
# These answers get half the points at most, and mostly none.
WRONG = {
    "ps1-ridge": "ridge = 77", "ps1-time": "time_us = 77", "ps1-bound": 'bound = "network"',
    "ps1-order": 'lowest_first = ["TPU v5e"]', "ps1-chain": 'chain = "EACDB"',
    "ps1-mine": "saved_us = 77", "ps1-attainable": "def attainable(*a): return 77",
    "ps1-bracket": "def bracket(*a): return 77, 78",
}  # fmt: skip


@dataclass
class Work:
    """A notebook as JSON, and where and under which name it is handed in."""

    student: str
    notebook: dict
    folder: str = "ps1"
    name: str = "ps1.ipynb"
    files: dict = field(default_factory=dict)

    def __getitem__(self, cell_id):
        return next(cell for cell in self.cells if cell.get("id") == cell_id)

    @property
    def cells(self):
        return self.notebook["cells"]

    def write(self, cell_id, source):
        self[cell_id]["source"] = source

    def add(self, source, before=None, kind="code"):
        """A cell of the student's own, before another or at the end."""
        cell = {"cell_type": kind, "metadata": {}, "source": source, "id": f"own-{len(self.cells)}"}
        if kind == "code":
            cell |= {"outputs": [], "execution_count": None}
        place = self.cells.index(self[before]) if before else len(self.cells)
        self.cells.insert(place, cell)

    def drop(self, *cell_ids):
        self.notebook["cells"] = [c for c in self.cells if c.get("id") not in cell_ids]

    def all_wrong(self):
        for cell_id, source in WRONG.items():
            self.write(cell_id, source)

    def hand_in(self, submitted):
        target = submitted / self.student / self.folder
        target.mkdir(parents=True)
        raw = json.dumps(self.notebook, ensure_ascii=True).encode()
        for name, content in {self.name: raw, **self.files}.items():
            if content is not None:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                (target / name).write_bytes(content)
        return target


def released():
    path = ROOT / "exercises/en/ps1/ps1.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))


def good_work(student):
    work = Work(student, released())
    for cell_id, source in ANSWERS.items():
        work.write(cell_id, source.format(student=student) if cell_id == "ps1-me" else source)
    return work


CLASS = {}


def submission(points=FULL, state="graded", hostile=False, stock=None):
    """Enter a submission: the points it deserves, its state, and the points by stock if others.

    What is ``hostile`` is never given to stock, which would run it with the tester's rights.
    """

    def enter(function):
        name = function.__name__.removesuffix("_").replace("_", "-")
        CLASS[name] = (function, points, state, hostile, points if stock is None else stock)
        return function

    return enter


def own_cells(enter, *, before="ps1-ridge-text", wrong=False, **cells):
    """Enter a submission for each of these cells, which its student has added; by its name."""
    for name, source in cells.items():

        def change(work, source=source):
            if wrong:
                work.all_wrong()
            work.add(source, before=before)

        change.__name__ = name
        enter(change)


def answers(enter, cell_id, **sources):
    """Enter a submission for each of these, which answers one question so; by its name."""
    for name, source in sources.items():

        def change(work, source=source):
            work.write(cell_id, source)

        change.__name__ = name
        enter(change)


# ---- good work, in the styles that people write


@submission()
def as_released(work): ...


answers(
    submission(),
    "ps1-ridge",
    in_fractions="from fractions import Fraction\nridge = Fraction(3097, 20) / Fraction(768, 1000)",
    with_units='ridge = "201.6 FLOP/byte"',
    with_numpy="import numpy as np\nridge = np.array([309.7e12 / 2])[0] / np.float64(768e9)",
    writes_a_file="open('r.txt', 'w').write('201.6')\nridge = float(open('r.txt').read())",
    not_in_ascii="größe = 309.7e12 / 2  # Rechenleistung, 算力\nridge = größe / 768e9",
)
answers(
    submission(stock=20), "ps1-ridge", widget_backend="%matplotlib widget\n" + ANSWERS["ps1-ridge"]
)
answers(
    submission(),
    "ps1-attainable",
    with_arrays="import numpy as np\nattainable = lambda i, p, b: np.minimum(p, np.asarray(i) * b)",
    warns="import warnings\ndef attainable(i, p, b):\n"
    "    warnings.warn('old')\n    return min(p, i * b)",
)
answers(
    submission(),
    "ps1-bracket",
    with_roofkit="def bracket(f, m, p, b):\n"
    "    return rk.Roofline(p, b).estimate(rk.Cost(f, m)).lower, f / p + m / b",
)
answers(submission(points=20), "ps1-time", error_in_an_answer="time_us = tmie")
own_cells(
    submission(),
    interactive="from ipywidgets import interact\n@interact(x=(0, 9))\ndef show(x): print(x)",
    plots="import matplotlib.pyplot as plt\nplt.plot([1, 2]);\nplt.show()",
    awaits="import asyncio\nawait asyncio.sleep(0)",
    prints_without_end="for _ in range(60): print('x' * 10**6)",
    asks_for_input="name = input('Who are you? ')",
    syntax_error_in_own_cell="for in x",
    error_in_own_cell="1 / 0",
    leaves_by_sys_exit="import sys; sys.exit(1)",
    installs_a_package="%pip install nothing-of-that-name",
    asks_the_shell="!ls -l\nfiles = !ls",
)
own_cells(submission(hostile=True), prints_300_000_lines="for i in range(300_000): print(i)")
own_cells(submission(stock="ungraded"), before="ps1-bound-text", leaves_by_exit="exit()")
own_cells(submission(stock=0), variable_named_check="check = 3")


@submission()
def reads_its_own_data(work):
    work.files["notes.txt"] = b"201.6"
    work.write("ps1-ridge", "ridge = float(open('notes.txt').read())")


# ---- accidents of editors, and of people; test_restore.py and test_intake.py have more


@submission()
def cells_deleted(work):
    work.drop("ps1-paragraph", "ps1-order-check", "ps1-setup")


@submission(points=FULL - POINTS["ps1-time"])
def question_deleted(work):
    work.drop("ps1-time", "ps1-time-check")


@submission()
def old_format_3(work):
    new = nbformat.reads(json.dumps(work.notebook), as_version=4)
    work.notebook = json.loads(nbformat.writes(new, version=3))


@submission()
def duplicated_answer(work):
    place = work.cells.index(work["ps1-ridge"])
    work.cells.insert(place + 1, json.loads(json.dumps(work.cells[place])) | {"id": "copy"})


@submission()
def all_metadata_lost(work):
    for cell in work.cells:
        cell["metadata"] = {}
        cell.pop("id")
    work.notebook |= {"metadata": {}, "nbformat_minor": 4}


@submission(stock=20)
def variable_renamed_and_check_edited(work):
    work.write("ps1-ridge", "my_ridge = 309.7e12 / 2 / 768e9")
    work.write("ps1-ridge-check", 'check("ps1.ridge", my_ridge)')


@submission(stock=20)
def answered_below_the_check(work):
    work.write("ps1-ridge", "ridge = ...")
    work.add(ANSWERS["ps1-ridge"], before="ps1-time-text")


@submission(stock="ungraded")
def renamed_by_the_browser(work):
    work.name = "ps1(1).ipynb"


@submission(stock=0)
def untouched_beside_final(work):
    work.name = "ps1-final.ipynb"
    work.files["ps1.ipynb"] = json.dumps(released()).encode()


@submission()
def paragraph_in_a_new_cell(work):
    work.write("ps1-paragraph", "YOUR ANSWER HERE")
    work.add(
        "Compare the intensity with the ridge, which is where the roofs meet.", kind="markdown"
    )


@submission(points=0)
def untouched(work):
    work.notebook = released()


# ---- what ends early


own_cells(
    submission(points=11, state="person", hostile=True),
    before="ps1-mine-text",
    crashes_after_five="import os\nos._exit(1)",
    loops_and_will_not_stop="import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "while True: time.sleep(1)",
)
own_cells(
    submission(state="person", hostile=True),
    before="ps1-mine-text",
    loops_in_a_cell="while True: pass",
)
own_cells(
    submission(hostile=True),
    before="ps1-mine-text",
    takes_all_memory="hoard = []\nwhile True: hoard.append(bytearray(10**8))",
)
answers(
    submission(points=FULL - 4, state="person", hostile=True),
    "ps1-attainable",
    loops_in_a_function="def attainable(*a):\n    while True: pass",
)

# ---- malice: all answers are wrong

own_cells(
    submission(points=0, stock=FULL, hostile=True),
    wrong=True,
    replaces_check="check = lambda *a: None",
    shows_nothing="get_ipython().ast_node_interactivity = 'none'",
)
own_cells(
    submission(points=0, hostile=True),
    wrong=True,
    fakes_check="import roofcheck.study.check as s\n"
    "s.find_question('ps1.ridge').__class__.judge = lambda self, a: s.Verdict(1, 'x')",
    looks_at_the_others="import os, glob\n"
    "print(glob.glob('../../../*'), os.listdir('/'), os.listdir('..'))\n"
    "print(open('/etc/shadow').read())",
    kills_its_parent="import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"
    "os.kill(-1, signal.SIGKILL)",
)


@submission(points=0, stock=FULL, hostile=True)
def reads_the_key(work):
    work.all_wrong()
    work.add(
        "from roofcheck.tables.catalogue import find_question\n"
        "def key(name): return find_question(name).reference()",
        before="ps1-ridge-text",
    )
    for cell_id, name in {
        "ps1-ridge": "ridge", "ps1-time": "time_us", "ps1-bound": "bound",
        "ps1-order": "lowest_first",
    }.items():  # fmt: skip
        work.write(cell_id, f"{name} = key('{cell_id.replace('-', '.')}')")


@submission(points=0, hostile=True)
def equal_to_everything(work):
    work.all_wrong()
    work.write(
        "ps1-ridge",
        "class Any(float):\n    def __eq__(self, o): return True\n"
        "    def __sub__(self, o): return 0.0\n    __rsub__ = __sub__\n"
        "    def __lt__(self, o): return True\n    __le__ = __gt__ = __ge__ = __lt__\n"
        "ridge = Any(7)",
    )


@submission(points=0, hostile=True)
def asks_for_more_points(work):
    work.all_wrong()
    for cell in work.cells:
        if "points" in cell["metadata"]["nbgrader"]:
            cell["metadata"]["nbgrader"]["points"] = 1000
    work.write("ps1-ridge-check", 'check("ps1.ridge", ridge)\n1e9')


# Attacks on the machinery of the sandbox, at the one end that a student can reach.
MACHINERY = """
import roofcheck
notebook = roofcheck.request.__self__
answer = notebook._answer
"""
own_cells(
    submission(points=0, state="person", hostile=True),
    wrong=True,
    replies_too_deep_to_write_down=f"{MACHINERY}\ndeep = []\nfor _ in range(485): deep = [deep]\n"
    "notebook._answer = lambda *a: answer(*a) | {'deep': deep}",
    replies_by_the_megabyte=f"{MACHINERY}\n"
    "notebook._answer = lambda *a: answer(*a) | {'much': [[]] * 2_000_000}",
    replies_with_no_numbers=f"{MACHINERY}\nnan = {{'t': 'num', 'v': float('nan')}}\n"
    "notebook._answer = lambda names, probe: {'value': {'t': 'callable'} if 'calls' in probe "
    "else nan, 'calls': [nan] * 24, 'me': {'t': 'str', 'v': 'x'}, 'said': nan}",
)
own_cells(
    submission(points=0, hostile=True),
    wrong=True,
    replies_with_many_values=f"{MACHINERY}\nmany = [{{'t': 'bool', 'v': True}}] * 900\n"
    "many = {'t': 'list', 'v': [{'t': 'list', 'v': many}] * 40}\n"
    "notebook._answer = lambda *a: {'value': many}",
    replies_with_points=f"{MACHINERY}\n"
    "points = {'credit': 1.0, 'points': 4.0, 'state': 'right', 'grade': 4.0}\n"
    "notebook._answer = lambda *a: answer(*a) | points",
)
answers(
    submission(state="person", points=19, hostile=True),
    "ps1-me",
    with_a_neighbours_figures='me = "Somebody-Else "',
    with_something_like_a_neighbours_id="class Like:\n"
    "    def __str__(self): return 'as-released'\n    __repr__ = __str__\nme = Like()",
)


@submission(points=0, hostile=True)
def right_every_second_time(work):
    work.all_wrong()
    work.write(
        "ps1-attainable",
        "calls = 0\ndef attainable(intensity, peak, bandwidth):\n    global calls\n    calls += 1\n"
        "    return min(peak, intensity * bandwidth) if calls % 2 else 77",
    )


@submission(points=0, hostile=True)
def the_check_of_another_question(work):
    work.all_wrong()
    work.write("ps1-chain", "chain = ...")
    for cell_id in POINTS:
        work.write(f"{cell_id}-check", 'check("l02.ridge", 240)')


@submission(hostile=True)
def a_folder_where_files_are_written(work):
    work.files |= {".being-written/x": b"", "later.txt": b""}


# ---- what cannot be read


@submission(points=None, state="refused", hostile=True)
def cut_off(work):
    raw = json.dumps(work.notebook).encode()
    work.files[work.name] = raw[: len(raw) // 2]


@submission(points=None, state="refused", hostile=True)
def a_word_document(work):
    work.name, work.files = "ps1.docx", {}


def link_to_the_solution(submitted):
    """A notebook that is a symlink; no function of good work makes that."""
    target = submitted / "link-to-the-solution" / "ps1"
    target.mkdir(parents=True)
    os.symlink(ROOT / "solutions/en/ps1/ps1.ipynb", target / "ps1.ipynb")


def hand_in(submitted, student):
    """One of the class."""
    work = good_work(student)
    CLASS[student][0](work)
    work.hand_in(submitted)


def hand_in_all(submitted):
    """The whole class; returns what each deserves: points and state by student."""
    deserved = {}
    for student, (_, points, state, *_) in CLASS.items():
        hand_in(submitted, student)
        deserved[student] = points, state
    link_to_the_solution(submitted)
    deserved["link-to-the-solution"] = None, "refused"
    (submitted / "nothing-in-it" / "ps1").mkdir(parents=True)
    deserved["nothing-in-it"] = None, "person"
    return deserved
