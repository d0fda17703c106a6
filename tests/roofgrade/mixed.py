"""A class as it comes: good work in every style, accidents of every editor, and some malice.

Each submission to problem set 1 does something to good work, and says which machine points it
deserves and what has to become of it: a line of mixed.toml if one cell says it all, or a function.
"""

import json
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from homework import ROOT

FULL = 22
SOURCES = tomllib.loads(Path(__file__).with_name("mixed.toml").read_text(encoding="utf-8"))
ANSWERS, POINTS, WRONG = SOURCES["answers"], SOURCES["points"], SOURCES["wrong"]


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


def enter_students(cells, answers=None, before=None, wrong=False, **deserved):
    """Enter a student for each of these cells: an answer, or a cell that stands before another."""
    for name, source in cells.items():

        def change(work, source=source):
            if wrong:
                work.all_wrong()
            if answers:
                work.write(answers, source)
            else:
                work.add(source, before=before)

        change.__name__ = name
        submission(**deserved)(change)


for students in SOURCES["students"]:
    enter_students(**students)


@submission()
def as_released(work): ...


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


# ---- malice: all answers are wrong


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
def asks_for_more_points(work):
    work.all_wrong()
    for cell in work.cells:
        if "points" in cell["metadata"]["nbgrader"]:
            cell["metadata"]["nbgrader"]["points"] = 1000
    work.write("ps1-ridge-check", 'check("ps1.ridge", ridge)\n1e9')


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
