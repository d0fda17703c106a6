"""What a student's file keeps, and what is asked again when."""

import importlib
import json
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from roofcheck import check, practise, progress, review
from roofcheck.commands import build_command
from roofcheck.kinds import Number, Verdict
from roofcheck.study import answers
from roofcheck.study import check as check_module
from roofcheck.study.review import GAPS, answer_due, answer_text, due_now, next_due, schedule
from roofcheck.tables.catalogue import find_question, load_questions

REVIEW = importlib.import_module("roofcheck.study.review")  # whose name in roofcheck is a function


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    """A student's file that is not there yet."""
    found = tmp_path / "home" / "answers.jsonl"
    monkeypatch.setenv("ROOFKIT_ANSWERS", str(found))
    monkeypatch.setattr(check_module, "_grades", {})
    return found


def lines(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def days_pass(file, days):
    """The same file, written so many days ago."""
    found = lines(file)
    for line in found:
        line["time"] = (datetime.fromisoformat(line["time"]) - timedelta(days=days)).isoformat()
    file.write_text("".join(json.dumps(line) + "\n" for line in found), encoding="utf-8")


def missed(file, *names, days=1):
    """Some questions, answered wrong so many days ago."""
    for name in names:
        answers.keep_answer(name, Verdict(0, "Wrong."), -1)
    days_pass(file, days)


def typed(text, *options):
    """What the command says on this input, and its exit code."""
    done = CliRunner().invoke(build_command(), ["review", *options], input=text)
    return done.output, done.exit_code


def test_an_answer_is_kept_in_words_that_a_student_can_read(file):
    check("l02.ridge", 1 / 240.5)
    [line] = lines(file)
    assert (line["question"], line["credit"], line["again"]) == ("l02.ridge", 0, 0)
    assert line["slips"] == ["ridge: turned peak / bandwidth", "upside down"]
    assert float(line["answer"]) == 1 / 240.5
    assert datetime.fromisoformat(line["time"]).date() == date.today()


def test_what_is_missing_or_said_twice_in_a_row_is_not_kept(file):
    check("l02.ridge", ...)
    assert not file.exists()
    for answer in (100, 100, 240, 100):
        check("l02.ridge", answer)
    assert [line["answer"] for line in lines(file)] == ["100", "240", "100"]


@pytest.mark.parametrize(
    ("name", "value"), [("ROOFKIT_ANSWERS", ""), ("NBGRADER_EXECUTION", "autograde")]
)
def test_nothing_is_kept_where_nobody_wants_it(file, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    check("l02.ridge", 100)
    assert not file.exists()


def no_home():
    raise RuntimeError("Could not determine home directory.")


@pytest.mark.parametrize("kept", ["{folder}/taken/answers.jsonl", None], ids=["a file", "no home"])
def test_a_file_that_cannot_be_written_costs_no_answer(tmp_path, monkeypatch, kept):
    (tmp_path / "taken").write_text("")
    if kept:
        monkeypatch.setenv("ROOFKIT_ANSWERS", kept.format(folder=tmp_path))
    else:
        monkeypatch.delenv("ROOFKIT_ANSWERS")
        monkeypatch.setattr(answers.Path, "home", no_home)
    said = str(check("l02.ridge", 240))
    assert said.startswith("Right.")
    assert f"Not saved for review{'' if kept else ': Could not determine home directory.'}" in said


def test_lines_broken_by_hand_are_counted_and_the_others_count(file):
    check("l02.ridge", 100)
    with file.open("a") as out:
        out.write("not json\n[1]\n{}\n")
    found, unreadable = answers.read_answers()
    assert ([each.question for each in found], unreadable) == (["l02.ridge"], 3)
    assert "3 lines can't be read" in typed("")[0]


def test_only_a_missed_question_comes_back_and_not_the_same_day(file):
    check("l02.ridge", 240)
    check("l01.v6e-comms", 1.0)
    check("l01.v6e-comms", 0.00122)
    assert [due.question_id for due in schedule()] == ["l01.v6e-comms"]
    assert due_now() == []
    assert repr(review()).endswith(f"comes back on {date.today() + timedelta(days=1)}.")


def test_gaps_grow_while_answers_are_right_and_figures_change(file):
    check("l01.v6e-comms", 1.0)
    asked = {find_question("l01.v6e-comms").text()}
    for gap in GAPS:
        days_pass(file, gap - 1)
        assert due_now() == []
        days_pass(file, 1)
        [due] = due_now()
        asked.add(due.question.text())
        grade = review(due.question.reference())
        assert str(grade).startswith("Right.")
    assert len(asked) == len(GAPS) + 1
    assert "won't be asked" in str(grade)
    days_pass(file, 1000)
    assert repr(review()) == "Nothing is due for review."


def test_a_wrong_answer_starts_anew_and_names_the_lecture(file):
    missed(file, "l01.v6e-comms")
    review(due_now()[0].question.reference())
    days_pass(file, 3)
    said = str(review(1 / due_now()[0].question.reference()))
    assert "upside down" in said
    tomorrow = date.today() + timedelta(days=1)
    assert f"Lecture 1 covers it. You'll see it again on {tomorrow}." in said


@pytest.fixture
def own(monkeypatch):
    """Questions of an instructor's own are there, too."""
    monkeypatch.setenv("ROOFKIT_QUESTIONS", str(Path(__file__).with_name("own")))


def test_a_miss_shows_the_derivation_of_this_draw_and_when_it_comes_back(file, own):
    missed(file, "l01.derived")
    [due] = due_now()
    assert repr(review(...)) == repr(due)
    unanswered = answer_due(due, "...")
    assert unanswered.verdict.state == "missing"
    assert due_now() == [due]
    moved, time = due.question.derivation()
    grade = review(2 * due.question.reference())
    assert f"see it again on {date.today() + timedelta(days=1)}.\n" in str(grade)
    assert str(grade).splitlines()[-2:] == [f"  {moved}", f"  {time}"]
    assert "<details open>" in grade._repr_html_()
    days_pass(file, 1)
    [due] = due_now()
    assert f"  {due.question.derivation()[-1]}\n" in typed("1 s\n")[0]
    days_pass(file, 1)
    for grade in (unanswered, review(due_now()[0].question.reference())):
        assert "details" not in grade._repr_html_()
        assert "step" not in str(grade)


def test_every_kind_says_what_an_answer_may_be(file):
    wanted = {"l01.v6e-bound": "options", "ps1.order": "items"}
    missed(file, *wanted)
    assert len(due_now()) == len(wanted)
    for due in due_now():
        answers_may_be = getattr(due.question, wanted[due.question_id])
        assert all(str(each) in repr(due) for each in answers_may_be)


def test_the_command_asks_judges_and_goes_on(file):
    missed(file, "l01.v6e-comms", "l01.v6e-bound")
    numbers = [str(due.question.reference()) for due in due_now()]
    skipped, _ = typed("\n\n")
    assert skipped.count("Skipped") == 2
    assert "Still due: 2" in skipped
    assert typed("\n".join([*numbers, ""]))[0].count("Right.") == 2
    assert due_now() == []


@pytest.mark.parametrize("name", ["l01.v6e-bound", "ps1.order", "ps1.chain", "l02.ridge"])
def test_what_is_no_option_is_asked_again_and_costs_nothing(file, name):
    missed(file, name)
    before, [due] = lines(file), due_now()
    wanted = getattr(due.question, "options", getattr(due.question, "items", ["Answer with"]))
    for text in ("help", "?", *(["compue", "123", "[1, 2]"] if name != "l02.ridge" else [])):
        grade = answer_text(name, text)
        assert (grade.verdict.state, lines(file), due_now()) == ("asked", before, [due])
        assert all(each in str(grade) for each in wanted)
        assert typed(f"{text}\n\n")[0].count("Unclear.") == 1
    assert "Did you mean memory?" in str(check("l01.v6e-bound", "memry-bound"))


@pytest.mark.parametrize("text", ["q\n", "Quit\n", ""])
def test_who_leaves_has_not_answered(file, text):
    missed(file, "l01.v6e-comms", "l01.v6e-bound")
    before, due = lines(file), due_now()
    said, code = typed(text)
    assert "Stopped." in said
    assert "2 of 2" not in said
    assert (code, lines(file), due_now()) == (0, before, due)


def test_practice_has_other_numbers_and_counts_nowhere(file):
    before, asked = repr(progress("ps1")), [practise("ps1.time") for _ in range(3)]
    assert len({repr(each) for each in asked}) == 3
    right = asked[-1].question.reference()
    states = [practise("ps1.time", n).verdict.state for n in (right, f"{right:.4g}", 1 / right)]
    assert states == ["right", "right", "wrong"]
    assert (repr(progress("ps1")), file.exists(), schedule()) == (before, False, [])
    assert repr(practise("ps1.chain")) == "This question has no other numbers to practise with."


def test_ten_questions_are_enough_for_a_day(file, monkeypatch):
    names = [name for name, question in load_questions().items() if isinstance(question, Number)][
        :13
    ]
    missed(file, *names, days=3)
    missed(file, "l11.hours")
    assert [due.question_id for due in due_now()] == names[:10]
    assert "Still due: 13" in typed("-1\n" + "\n" * 9)[0]
    assert [due.question_id for due in due_now()] == names[1:10]
    monkeypatch.setattr(REVIEW, "MOST_A_DAY", 1)
    assert due_now() == []
    assert "You've reviewed 1 questions" in repr(review())
    assert "1 of 13" in typed("q\n", "--all")[0]
    assert due_now(everything=True)[0].question_id == names[1]


def test_a_page_asks_and_takes_what_is_typed(file):
    missed(file, "ps1.attainable", "l02.ridge", "l02.warmup-bound")
    first = next_due()
    choice = next_due(skipped=[first.question_id])
    assert {first.question_id, choice.question_id} == {"l02.ridge", "l02.warmup-bound"}
    assert next_due(skipped=["l02.ridge", "l02.warmup-bound"]) is None, "a function is not asked"
    for unread in ("", "help"):
        assert answer_text("l02.ridge", unread).verdict.state in ("missing", "asked")
    wrong = answer_text("l02.ridge", "1")
    assert wrong.verdict.state == "wrong"
    assert "step by step" in str(wrong)
    # It comes back tomorrow: a page that was open since then cannot answer it again.
    assert answer_text("l02.ridge", "1") is None


def test_a_mended_answer_is_not_asked_with_the_same_figures_next_morning(file):
    fixed, drawn = "l02.axpy", "l02.ridge"
    assert not load_questions()[fixed].has_new_figures
    for name in (fixed, drawn):
        check(name, -1)
        check(name, load_questions()[name].reference())
    days_pass(file, 1)
    [due] = due_now()
    assert due.question_id == drawn
    assert due.question.text() != load_questions()[drawn].text()
    days_pass(file, 2)
    assert {due.question_id for due in due_now()} == {fixed, drawn}


def test_a_file_of_an_older_course_is_read(file):
    """Lines without "again", of a question that is gone, and with a time of another zone."""
    file.parent.mkdir()
    old = {"time": "2026-01-01T09:00:00+05:30", "credit": 0.0, "answer": "1", "slips": []}
    found = [json.dumps(old | {"question": name}) + "\n" for name in ("l02.ridge", "l00.gone")]
    file.write_text("".join(found), encoding="utf-8")
    assert answers.read_answers()[1] == 0
    assert [due.question_id for due in due_now()] == ["l02.ridge"]


def test_the_command_lists_finds_and_forgets(file):
    check("l02.ridge", 100)
    assert typed("", "--file")[0].strip() == str(file)
    tomorrow = str(date.today() + timedelta(days=1))
    assert typed("", "--list")[0].split() == [tomorrow, "l02.ridge"]
    assert "Deleted" in typed("", "--forget")[0]
    assert not file.exists()
    assert "Nothing is due" in typed("")[0]


def test_progress_counts_what_was_checked():
    assert repr(progress("ps1")).startswith("0 of ")
    for name, answer in (("ridge", 201.6), ("time", 1.0), ("bound", ...)):
        check(f"ps1.{name}", answer)
    line = repr(progress("ps1"))
    assert line.startswith("2 of ")
    assert "1 right; 2 of " in line
    assert "Not answered: 3, 4, 5, 6, 7 and 8. Not fully right yet: 2." in line
    assert line.splitlines()[3].split() == ["2", "1", "not", "right", "0", "of", "2"]


def test_progress_says_what_time_is_left(monkeypatch):
    left, over = timedelta(days=2, hours=3.5), timedelta(days=-1, hours=-1.5)
    for away, says in ((left, "Time left to hand in: 2 d 3 h."), (over, "It was due 1 d 1 h ago.")):
        due = f"{datetime.now() + away:%Y-%m-%d %H:%M}"
        assert says in repr(progress("ps1", due=due))
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert says not in repr(progress("ps1", due=due))


def test_progress_refuses_what_it_cannot_know():
    with pytest.raises(ValueError, match="is not a time"):
        progress("ps1", due="tomorrow")
    with pytest.raises(ValueError, match="no problem set"):
        progress("ps99")


def test_a_table_that_a_question_needs_stands_beside_it(file, own):
    missed(file, "x.longest")
    assert "take?\n\n| row | µs |\n|-----|----|\n" in repr(review())
    assert "<th>row</th>" in review()._repr_html_()
