"""Read the number, points and lectures of each question from a problem set's text.

CONTRIBUTING.md explains how to write a problem set. The builder numbers each question's heading,
adds the points to it, and fills in the expressions in the set's prose. In a lecture's prose it
replaces `homework` with the questions that the lecture opens.
"""

from collections.abc import Iterator, Sequence
from itertools import compress, groupby, zip_longest
from pathlib import Path

from roofcheck.course import ProblemSet, SetQuestion
from roofcheck.home.times import format_length
from roofcheck.sentences import join_items
from roofcheck.tables.catalogue import find_question
from tools.notebooks import inline_values as inline
from tools.notebooks.myst_cells import BuildError, Text, find_call, read_problem_set
from tools.sentences import sentence


def read_sets(root: Path) -> list[ProblemSet]:
    """Read every problem set under `root`, in order."""
    sets = []
    for path in root.glob("solutions/text/*.md"):
        name, source = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        sets.append(describe_set(read_problem_set(name, source, lambda q: find_question(q).points)))
    return sorted(sets, key=lambda problem_set: problem_set.number)


def describe_set(text: Text) -> ProblemSet:
    """Describe the problem set in a text, without lessons."""
    about = text.notebook.metadata
    if not (about.get("title") and about.get("minutes")):
        raise BuildError(f"{text.name}: its header needs a title and minutes")
    name = Path(text.name).stem.partition("-")[0]
    questions = tuple(_list_questions(text))
    lectures = {n for cell in text.notebook.cells for n in cell.metadata.get("lectures", ())}
    return ProblemSet(
        id=name, file=f"exercises/en/{name}/{name}.ipynb", number=int(name.removeprefix("ps")),
        title=about.title.partition(": ")[2], minutes=about.minutes,
        points=sum(question.points for question in questions),
        lectures=tuple(f"l{number:02}" for number in sorted(lectures)), questions=questions,
    )  # fmt: skip


def _list_questions(text: Text) -> Iterator[SetQuestion]:
    about = (cell.metadata for cell in text.notebook.cells)
    asked = ("lectures" in each or each.nbgrader.grade for each in about)
    cells = list(compress(text.notebook.cells, asked))
    for number, (heading, graded) in enumerate(zip_longest(cells[::2], cells[1::2]), 1):
        lectures = heading.metadata.get("lectures")
        if not (lectures and graded and graded.metadata.nbgrader.grade):
            reason = 'a question needs a heading with "lectures": [2] and one graded cell below it'
            raise text.error(heading, reason)
        call = find_call(graded)
        yield SetQuestion(
            id=call.question if call else graded.id, number=number, text=heading.id, cell=graded.id,
            title=heading.source.partition("\n")[0].removeprefix("## "), paragraph=not call,
            points=graded.metadata.nbgrader.points, lecture=f"l{max(lectures):02}", lesson=None,
        )  # fmt: skip


def fill_in_set(text: Text, root: Path) -> None:
    """Number the headings of a problem set, add points to them, and fill in facts in its prose."""
    about = describe_set(text)
    cells = {cell.id: cell for cell in text.notebook.cells}
    for question in about.questions:
        key = "set.points-read" if question.paragraph else "set.points"
        points = sentence(key, points=question.points)
        heading, cell = f"{question.number}. {question.title} {points}", cells[question.text]
        cell.source = cell.source.replace(question.title, heading, 1)
    files = {path.name[:2]: path.stem for path in root.glob("course/text/*.md")}
    if missing := {name[1:] for name in about.lectures} - {*files}:
        raise BuildError(f"{text.name}: course/text has no lecture {min(missing)}")
    links = [f"[{int(n[1:])}](../../../course/en/{files[n[1:]]}.ipynb)" for n in about.lectures]
    key = "set.lectures" if len(links) > 1 else "set.lecture"
    facts = {
        "lectures": sentence(key, linked=join_items(links)), "points": f"{about.points:g}",
        "questions": str(len(about.questions)), "time": format_length(about.minutes),
    }  # fmt: skip
    numbers = {question.id: str(question.number) for question in about.questions}
    checked = [question.id for question in about.questions if not question.paragraph]
    texts = {f"{name}.text": find_question(name).text() for name in checked}
    for cell in cells.values():
        # Grading refuses a table that asks something else.
        if asked := [name for name in checked if f"`{name}.text`" in cell.source]:
            cell.metadata.asks = asked
    inline.fill_in_facts(text, facts | numbers | texts)


def write_homework_sentence(lecture: int, sets: Sequence[ProblemSet], folder: str) -> str:
    """Name the questions that a lecture opens, with links; `folder` is the path to the root."""
    parts = []
    for problem_set in sets:
        name = f"l{lecture:02}"
        if numbers := [each.number for each in problem_set.questions if each.lecture == name]:
            key = "set.questions" if len(numbers) > 1 else "set.question"
            link = {"set": problem_set.number, "file": f"{folder}/{problem_set.file}"}
            parts.append(sentence(key, numbers=write_ranges(numbers), **link))
    return str(join_items(parts))


def write_ranges(numbers: Sequence[int]) -> str:
    """Write ascending numbers as ranges: "1, 3 to 5 and 7"."""
    words: list[str] = []
    # In a run of successive numbers, number minus index is constant.
    for _, pairs in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [str(number) for _, number in pairs]
        words += [sentence("set.range", first=run[0], last=run[-1])] if len(run) > 2 else run
    return str(join_items(words))
