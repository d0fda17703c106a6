"""What a problem set's text says of itself: the number, points and lectures of each question.

A question begins at a heading whose cell names the lectures that it draws on; the last of them
opens it. The graded cell below says what it is worth.

    +++ {"id": "ps2-own-text", "lectures": [6]}

    ## Different weights for each user

The builder numbers the heading, adds the points to it, and fills in these expressions in the set's
prose: `lectures`, `questions`, `points`, `time`, and any question's id for its number. In a
lecture's prose `homework` stands for the questions that the lecture opens.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from pathlib import Path

from roofcheck.cells import question_call
from roofcheck.course import ProblemSet, SetQuestion
from roofcheck.home.times import format_length
from roofcheck.sentences import join_items
from roofcheck.tables.catalogue import find_question
from tools.notebooks import inline_values as inline
from tools.notebooks.myst_cells import BuildError, Text, read_problem_set
from tools.sentences import sentence


def read_sets(root: Path) -> list[ProblemSet]:
    """Every problem set under `root`, in order."""
    sets = []
    for path in root.glob("solutions/text/*.md"):
        name, source = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        sets.append(describe_set(read_problem_set(name, source, lambda q: find_question(q).points)))
    return sorted(sets, key=lambda each: each.number)


def describe_set(text: Text) -> ProblemSet:
    """The problem set of a text that is not filled in yet; its questions have no lessons."""
    about = text.notebook.metadata
    if not (about.get("title") and about.get("minutes")):
        raise BuildError(f"{text.name}: its header needs a title and minutes")
    name = Path(text.name).stem.partition("-")[0]
    questions = tuple(_list_questions(text))
    drawn_on = {each for cell in text.notebook.cells for each in cell.metadata.get("lectures", ())}
    return ProblemSet(
        id=name,
        file=f"exercises/en/{name}/{name}.ipynb",
        number=int(name.removeprefix("ps")),
        title=about.title.partition(": ")[2],
        minutes=about.minutes,
        points=sum(each.points for each in questions),
        lectures=tuple(f"l{each:02}" for each in sorted(drawn_on)),
        questions=questions,
    )


def _list_questions(text: Text) -> Iterator[SetQuestion]:
    data = ((cell, cell.metadata) for cell in text.notebook.cells)
    cells = [cell for cell, each in data if "lectures" in each or each.nbgrader.grade]
    for number, (heading, graded) in enumerate(zip_longest(cells[::2], cells[1::2]), 1):
        lectures = heading.metadata.get("lectures")
        if not (lectures and graded and graded.metadata.nbgrader.grade):
            reason = 'a heading with "lectures": [2] and one graded cell below it make a question'
            raise text.error(heading, reason)
        found = question_call(graded.source) if graded.cell_type == "code" else None
        yield SetQuestion(
            id=found.question if found else graded.id,
            number=number,
            title=heading.source.partition("\n")[0].removeprefix("## "),
            points=graded.metadata.nbgrader.points,
            text=heading.id,
            cell=graded.id,
            paragraph=not found,
            lecture=f"l{max(lectures):02}",
            lesson=None,
        )


def fill_in_set(text: Text, root: Path) -> None:
    """Number the headings of a problem set, add their points, and put its facts into its prose."""
    about = describe_set(text)
    cells = {cell.id: cell for cell in text.notebook.cells}
    for each in about.questions:
        points = sentence("set.points-read" if each.paragraph else "set.points", points=each.points)
        heading = f"{each.number}. {each.title} {points}"
        cells[each.text].source = cells[each.text].source.replace(each.title, heading, 1)
    files = {path.name[:2]: path.stem for path in root.glob("course/text/*.md")}
    if missing := {each[1:] for each in about.lectures} - {*files}:
        raise BuildError(f"{text.name}: course/text has no lecture {min(missing)}")
    links = [f"[{int(n[1:])}](../../../course/en/{files[n[1:]]}.ipynb)" for n in about.lectures]
    facts = {
        "lectures": sentence(
            "set.lectures" if len(links) > 1 else "set.lecture", linked=join_items(links)
        ),
        "questions": str(len(about.questions)),
        "points": f"{about.points:g}",
        "time": format_length(about.minutes),
    }
    inline.fill_in_facts(text, facts | {each.id: str(each.number) for each in about.questions})


def homework_sentence(lecture: int, sets: Sequence[ProblemSet], folder: str) -> str:
    """The questions that a lecture opens, in words with links; `folder` leads to exercises."""
    parts = []
    for each in sets:
        if opened := [one.number for one in each.questions if one.lecture == f"l{lecture:02}"]:
            key = "set.questions" if len(opened) > 1 else "set.question"
            named = {"set": each.number, "file": f"{folder}/{each.file}"}
            parts.append(sentence(key, numbers=number_ranges(opened), **named))
    return str(join_items(parts))


def number_ranges(numbers: Sequence[int]) -> str:
    """Rising numbers in words: "1, 3 to 5 and 7"."""
    words: list[str] = []
    # Numbers of one run are as far above their place.
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        first, *others = [str(number) for _, number in run]
        longer = len(others) > 1
        words += (
            [sentence("set.range", first=first, last=others[-1])] if longer else [first, *others]
        )
    return str(join_items(words))
