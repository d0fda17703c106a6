import dataclasses
import json
import re
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest

from roofcheck.tables.catalogue import find_question, load_questions
from tools.notebooks import build as notebooks
from tools.notebooks import inline_values as inline
from tools.notebooks import myst_cells as mystcells
from tools.notebooks import problem_sets

pytestmark = pytest.mark.slow("notebooks are built as their texts say, and mistakes are told")

SAMPLE = Path(__file__).with_name("sample")
CONFIG = """\
c = get_config()
c.CourseDirectory.source_directory = "solutions/en"
c.CourseDirectory.release_directory = "exercises/en"
c.ClearMarkScheme.enforce_metadata = False
"""
TEXTS = {
    path.relative_to(SAMPLE).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(SAMPLE.rglob("*.md"))
} | {"nbgrader_config.py": CONFIG}
PROBLEM_SET = TEXTS["solutions/text/ps1-first.md"]
CHANGES = tomllib.loads(Path(__file__).with_name("changes.toml").read_text(encoding="utf-8"))


def course(root, texts):
    for name, source in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return root


points = {"ps1.ridge": 2}.__getitem__


def build(root, *argv, **options):
    return notebooks.main([str(a) for a in argv], root=root, points=points, **options)


def files(root):
    """Every file but the runs that checks keep."""
    found = (path for path in root.rglob("*") if path.is_file())
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in found
        if root / "build/runs" not in path.parents
    }


def cells(root, name):
    notebook = nbformat.reads((root / name).read_text(), as_version=4)
    nbformat.validate(notebook)
    return {cell.id: cell for cell in notebook.cells}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = course(tmp_path_factory.mktemp("course").resolve(), TEXTS)
    assert build(root) == 0
    return root


# Reading a text

HIDDEN = {"source_hidden": True, "outputs_hidden": True}


def code(source, options=""):
    return f"```{{code-cell}}\n:id: x\n{options}\n{source}\n```\n"


def markdown(source, options=""):
    return f'+++ {{"id": "x"{options}}}\n{source}\n'


@pytest.mark.parametrize("write", [markdown, code], ids=["markdown", "code"])
def test_slide_type_follows_from_the_cell(write):
    table = tomllib.loads(Path(__file__).with_name("slide-types.toml").read_text(encoding="utf-8"))
    for source, options, slide_type in table[write.__name__]:
        text = mystcells.read_lecture("a.md", write(source, options), lambda name: 1)
        metadata = text.notebook.cells[0].metadata
        assert metadata.get("slideshow", {}).get("slide_type", "") == slide_type, source
        assert set(metadata) <= {"slideshow", "tags", "jupyter"}
        revealed = "reveal" in metadata.get("tags", [])
        assert metadata.get("jupyter") == (HIDDEN if revealed else None)


def probed(name, source, points):
    return inline.make_probe_cells(mystcells.read_lecture(name, source, points))


@pytest.mark.parametrize(("kind", "read", "points"), [
    ("lecture", mystcells.read_lecture, notebooks.find_question_points),
    ("problem-set", mystcells.read_problem_set, points),
    ("prose", probed, points),
])  # fmt: skip
def test_a_text_in_error_is_reported_with_its_line(kind, read, points):
    errors = Path(__file__).with_name("errors.toml").read_text(encoding="utf-8")
    for error in tomllib.loads(errors)[kind]:
        with pytest.raises(mystcells.BuildError, match=error["says"]):
            read("a.md", error["text"], points)


def test_a_question_that_takes_a_slip_for_right_stops_the_build(monkeypatch):
    ridge = find_question("ps1.ridge")
    monkeypatch.setitem(load_questions(), "ps1.ridge", dataclasses.replace(ridge, rtol=0.01))
    with pytest.raises(ValueError, match="the slip 'A100 40GB' lies within the tolerance"):
        notebooks.find_question_points("ps1.ridge")


# Building


@pytest.mark.slow("the same texts give the same notebooks, to the byte")
def test_a_rebuild_is_identical_and_the_check_passes(built, tmp_path, monkeypatch, capsys):
    personal = {
        "kernels/python3/kernel.json": '{"argv": ["false"], "display_name": "false"}',
        "profile_default/startup/00.py": "print('hello')",
    }
    home = course(tmp_path / "home", personal)
    for variable, value in {"JUPYTER_PATH": home, "IPYTHONDIR": home, "MPLBACKEND": "agg"}.items():
        monkeypatch.setenv(variable, str(value))
    again = course(tmp_path / "again", TEXTS)
    assert build(again) == 0
    assert files(again) == files(built)
    assert not (again / "build").exists()
    assert build(again, "--check") == 0
    out = capsys.readouterr().out
    assert "course/en/01-a.ipynb: written" in out
    assert "exercises/en/ps1/ps1.ipynb: up to date" in out


def test_building_leaves_nothing_but_the_notebooks(built):
    lectures = {f"course/en/{name}.ipynb" for name in ("01-a", "02-b", "03-c")}
    sets = {f"{folder}/en/ps1/ps1.ipynb" for folder in ("solutions", "exercises")}
    assert set(files(built)) - set(TEXTS) == lectures | sets


def test_a_lecture_runs_and_names_a_kernel_that_everybody_has(built):
    where = cells(built, "course/en/02-b.ipynb")["t02-where"]
    assert where.outputs[0].data["text/plain"] == str(("en", sys.executable))
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    assert json.loads((built / "course/en/01-a.ipynb").read_text())["metadata"] == {
        "kernelspec": kernel,
        "language_info": {"name": "python"},
        "title": "A lecture",
    }


def test_a_lecture_does_not_look_as_if_somebody_had_run_it(built):
    lecture = cells(built, "course/en/02-b.ipynb")
    where, asks = lecture["t02-where"], lecture["t02-check"]
    assert [each.execution_count for each in (where, *where.outputs)] == [None, None]
    assert (asks.outputs, asks.metadata.tags) == ([], ["nbval-ignore-output"])


def test_outputs_keep_pictures_and_text_but_no_widget(built):
    lecture = cells(built, "course/en/01-a.ipynb")
    stream, html, figure = lecture["t01-figure"].outputs
    assert (stream.text, figure.metadata) == ("a\nb\n", {})
    assert "base64" in html.data["text/html"]
    assert figure.data["image/png"]
    slider = lecture["t01-slider"]
    assert [output.text for output in slider.outputs] == ["x = 3\n"]
    assert slider.metadata.tags == ["nbval-ignore-output"]


def test_expressions_in_prose_become_the_values_that_the_run_leaves_and_no_cell_more(built):
    lecture = cells(built, "course/en/03-c.ipynb")
    assert list(lecture) == ["t03-title", "t03-folded", "t03-setup", "t03-change"]
    assert [output.data["text/plain"] for output in lecture["t03-change"].outputs] == ["285"]
    assert lecture["t03-title"].source == "# 10 squares\n\n285 = 1+4+9 + ..., $x = 142.5$"
    _, _, values, _, rounded, *below, _, _ = lecture["t03-folded"].source.splitlines()
    assert values == r"|    +285 | 27.00 | '\xe9' |"
    assert rounded == "| 2.95 · 10¹⁴ FLOPs | 10¹² | 1.5 · 10⁻⁶ | 2 · 10⁹ 1e5 |"
    assert below == ["", "`` 241", "", "1. One", "", "   - a", "   - b"]


@pytest.mark.parametrize(("prose", "first", "second", "name"), [
    ("{eval}`cache / 2`", "cache = 2", "prompt, cache = 1, 3", "cache"),
    ("{eval}`sum(n for n in each)`", "each = [1]", "for each in [[1], [2]]: pass", "each"),
    ("{eval}`cache:.0f`", "cache = 2", "with open(name) as cache: pass", "cache"),
])  # fmt: skip
def test_prose_reads_no_name_that_a_later_cell_binds_again(prose, first, second, name):
    cells = {"prose": markdown(prose), "a": code(first), "b": code(second)}
    for order in (["a", "prose", "b"], ["prose", "a", "b"]):
        message = f": `{name}` is bound in cell a and again in cell b; rename one of them"
        with pytest.raises(mystcells.BuildError, match=re.escape(message)):
            inline.make_probe_cells(of_cells({cell: cells[cell] for cell in order}))
    assert inline.make_probe_cells(of_cells({cell: cells[cell] for cell in ["a", "b", "prose"]}))


def test_functions_and_comprehensions_bind_names_of_their_own():
    cells = {
        "a": code("n, bits = 1, 2"),
        "prose": markdown("{eval}`n + f(2) + sum(bits for bits in [n])`"),
        "b": code("def f(n):\n    bits = n\n    return [n for n in [bits]]"),
        "c": code("def g(x):\n    n = x\n    return n"), "d": code("%matplotlib inline"),
    }  # fmt: skip
    assert inline.make_probe_cells(of_cells(cells))


def of_cells(cells):
    """A lecture of these cells, each with the id that it goes by here."""
    named = [cell.replace("x", name, 1) for name, cell in cells.items()]
    return mystcells.read_lecture("a.md", "\n".join(named), points)


def test_lectures_and_problem_sets_say_what_their_texts_give(built):
    release = cells(built, "exercises/en/ps1/ps1.ipynb")
    said = [release[f"ps1-{name}"].source for name in ("title", "ridge-text", "why-text")]
    assert said[0].split("\n")[1] == (
        "On lectures [2](../../../course/en/02-b.ipynb) and [3](../../../course/en/03-c.ipynb): "
        "6, 1 h 30 min, 2 asked, 2 read."
    )
    assert said[1] == "## 1. The ridge (2 points)"
    assert said[2] == "## 2. A reason (4 points, read by a person)\n\nAs in question 1."
    opens = "It opens question 1 of [problem set 1](../../exercises/en/ps1/ps1.ipynb)."
    assert cells(built, "course/en/02-b.ipynb")["t02-homework"].source == opens


def test_numbers_are_written_with_their_ranges():
    written = [
        problem_sets.write_ranges(each) for each in ([3], [1, 2], [1, 3, 4, 5, 7, 8], [7, 8, 9])
    ]
    assert written == ["3", "1 and 2", "1, 3 to 5, 7 and 8", "7 to 9"]


@pytest.mark.parametrize(("old", "new", "message"), CHANGES["problem-set"])
def test_a_text_that_lacks_a_fact_is_reported(tmp_path, capsys, old, new, message):
    name = "solutions/text/ps1-first.md"
    root = course(tmp_path, TEXTS | {name: PROBLEM_SET.replace(old, new, 1)})
    assert build(root, root / name) == 1
    assert message in capsys.readouterr().err


def test_a_problem_set_carries_nbgrader_metadata(built):
    source = cells(built, "solutions/en/ps1/ps1.ipynb")
    assert all(not cell.get("outputs") for cell in source.values())
    found = {i: dict(cell.metadata.nbgrader) for i, cell in source.items() if "-text" not in i}
    roles = {  # whether it is graded, locked, and holds a solution; its points
        "ps1-title": (False, True, False, {}),
        "ps1-solve": (False, False, True, {}),
        "ps1-check": (True, True, False, {"points": 2}),
        "ps1-why": (True, False, True, {"points": 4}),
        "ps1-why-rubric": (False, True, False, {}),
    }
    common = {"schema_version": 3, "task": False}
    assert found == {
        name: {"grade_id": name, "grade": grade, "locked": locked, "solution": solution}
        | (common | worth)
        for name, (grade, locked, solution, worth) in roles.items()
    }


def test_the_release_has_the_same_cells_without_solutions(built):
    source, release = (
        cells(built, f"{folder}/en/ps1/ps1.ipynb") for folder in ("solutions", "exercises")
    )
    assert list(release) == list(source)
    assert "240" not in release["ps1-solve"].source
    assert "Because" not in release["ps1-why"].source
    assert release["ps1-check"].source == source["ps1-check"].source
    assert release["ps1-check"].metadata.nbgrader.checksum


def test_who_marks_sees_rubric_and_model_answer_and_students_its_first_paragraph(built):
    source = cells(built, "solutions/en/ps1/ps1.ipynb")["ps1-why-rubric"].source
    assert source == (
        "A person reads this.\n\n### BEGIN MARK SCHEME\n\n- Names the cause: 4 points.\n\n"
        "**A model answer:**\n\nBecause.\n\n### END MARK SCHEME"
    )
    release = cells(built, "exercises/en/ps1/ps1.ipynb")["ps1-why-rubric"].source
    assert release.strip() == "A person reads this."


def test_a_problem_set_that_nbgrader_refuses_is_reported(tmp_path, capsys):
    source = PROBLEM_SET.replace("### END SOLUTION", "", 1)
    root = course(tmp_path, TEXTS | {"solutions/text/ps1-first.md": source})
    assert build(root, root / "solutions/text/ps1-first.md") == 1
    message = capsys.readouterr().err
    assert "solutions/text/ps1-first.md: nbgrader refuses it:\n[ERROR] No end solution" in message
    assert "Traceback" not in message
    assert not (root / "exercises").exists()


def test_two_texts_for_one_notebook_are_refused(tmp_path, capsys):
    root = course(tmp_path, {f"solutions/text/ps1-{x}.md": PROBLEM_SET for x in "ab"})
    assert build(root) == 1
    assert "ps1-b.md: builds solutions/en/ps1/ps1.ipynb, but so does" in capsys.readouterr().err


# What goes wrong in a run


def lecture(body):
    return f'+++ {{"id": "title"}}\n# Title\n\n{code(body)}'


FAILING = Path(__file__).with_name("failing")
FAILURES = tomllib.loads((FAILING / "says.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def failures(tmp_path_factory):
    texts = {f"course/text/{name}.md": (FAILING / f"{name}.md").read_text() for name in FAILURES}
    root = course(tmp_path_factory.mktemp("failures").resolve(), texts)
    found = dict(notebooks.build_texts(root, list(texts), points))
    assert not list(root.rglob("*.ipynb"))
    return found


@pytest.mark.slow("an author is told the line of a cell that fails")
@pytest.mark.parametrize("name", FAILURES)
def test_a_failing_cell_is_reported_at_its_line(failures, name):
    text = f"course/text/{name}.md"
    assert f"{text}:{FAILURES[name]}" in f"{failures[text]}"


def test_a_cell_that_does_not_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "CELL_SECONDS", 1)
    text = "course/text/01-loop.md"
    root = course(tmp_path, {text: lecture("while True:\n    pass")})
    [(_, error)] = notebooks.build_texts(root, [text], points)
    assert str(error) == f"{text}:7: cell x: still running after 1 s"


# Checking


def edit(root, name, old, new):
    path = root / name
    before = path.read_text()
    after = re.sub(old, new, before, count=1)
    assert after != before
    path.write_text(after)


def test_check_names_the_notebook_the_cell_and_the_command(tmp_path, capsys):
    root = course(tmp_path.resolve(), TEXTS)
    (root / "course/text/01-a.md").unlink()
    assert build(root) == 0
    edit(root, "course/en/02-b.ipynb", "'en'", "'de'")
    (root / "solutions/en/ps1/ps1.ipynb").unlink()
    edit(root, "exercises/en/ps1/ps1.ipynb", '"points": 4', '"points": 5')
    edit(root, "exercises/en/ps1/ps1.ipynb", "Why", "When")
    (root / "course/en/00-gone.ipynb").write_text("{}")
    before = files(root)
    capsys.readouterr()
    for _ in range(2):  # the second time its lectures do not run
        assert build(root, "--check") == 1
        assert capsys.readouterr().err.splitlines() == [
            "course/en/02-b.ipynb: cell t02-where differs",
            "  to fix: python -m tools.notebooks course/text/02-b.md",
            "solutions/en/ps1/ps1.ipynb: missing file",
            "  to fix: python -m tools.notebooks solutions/text/ps1-first.md",
            "exercises/en/ps1/ps1.ipynb: cell ps1-why differs",
            "  to fix: python -m tools.notebooks solutions/text/ps1-first.md",
            "course/en/00-gone.ipynb: no text builds this notebook; delete it",
        ]
    assert files(root) == before
    assert build(root, root / "solutions/text/ps1-first.md") == 0
    assert build(root, "--check", root / "solutions/text/ps1-first.md") == 0


@pytest.mark.parametrize(("old", "new", "found"), CHANGES["notebook"])
def test_differences_are_named_and_pictures_are_not_compared(built, tmp_path, old, new, found):
    content = (built / "course/en/01-a.ipynb").read_text()
    path = tmp_path / "01-a.ipynb"
    path.write_text(re.sub(old, new, content, flags=re.M, count=1))
    assert path.read_text() != content
    assert notebooks.list_differences(path, content) == found
