"""What came in is found whatever it is called, read without harm, or named with a reason."""

import os
import random
import shutil

import pytest
from damage import RELEASED, cell, made, own
from homework import ROOT, make_releases

from roofgrade.common.errors import MachineryError, RefusedError
from roofgrade.common.results import REFUSED, WAITING
from roofgrade.course import Course
from roofgrade.intake import bounded_files as bounds
from roofgrade.intake.submitted_folders import list_folders, read_submission

WORK = made()
OTHER = (ROOT / "exercises/en/ps2/ps2.ipynb").read_bytes()
MORE = made(lambda nb: cell(nb, "ps1-ridge").update(source="ridge = 2"))
NOTED = made(lambda nb: nb["cells"].append(own("x = 1")))
SPACED = made(lambda nb: nb["cells"].extend([own(""), own("x = 1")]))


@pytest.fixture
def course(tmp_path):
    """A course with two releases, and nothing handed in."""
    (tmp_path / "submitted").mkdir()
    return Course(make_releases(tmp_path))


def put(course, path, data=WORK):
    target = course.submitted / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target


def listed(course):
    """The folders by name."""
    return {folder.name: folder for folder in list_folders(course, "ps1")}


def only(course):
    [folder] = list_folders(course, "ps1")
    return folder


def test_a_folder_named_as_asked_is_taken_in_without_a_remark(course):
    put(course, "amy/ps1/ps1.ipynb")
    put(course, "amy/ps1/data/table.csv", b"1,2")
    folder = only(course)
    handed = read_submission(folder)
    assert (folder.student, folder.name, folder.state) == ("amy", "amy/ps1", "")
    assert folder.path == course.submitted / "amy/ps1"
    assert (handed.notebook, handed.files) == (WORK, {"data/table.csv": b"1,2"})
    assert (handed.submitted, handed.remarks, handed.review_reason) == ("", (), "")


@pytest.mark.parametrize("path", [
    "amy/PS1/PS1.ipynb", "amy/Kopie von ps1.ipynb", "amy/Untitled.ipynb",
    "amy/homework/ps1/ps1.ipynb", "amy/ps1/Untitled.ipynb", "amy/ps1/ps1.ipynb.txt",
    "ps1_amy.ipynb", "amy ps1 (2).ipynb",
])  # fmt: skip
def test_a_folder_with_another_name_is_taken_in_with_a_remark(course, path):
    put(course, path)
    folder = only(course)
    handed = read_submission(folder)
    assert (folder.student, folder.state, handed.notebook) == ("amy", "", WORK)
    assert handed.remarks


def test_what_is_of_another_set_is_not_of_this_one(course):
    put(course, "amy/ps2/ps2.ipynb", OTHER)
    put(course, "bea/ps2.ipynb", OTHER)
    put(course, "cat/homework/Untitled.ipynb", OTHER)
    put(course, "ps2_dan.ipynb", OTHER)
    put(course, "eve/ps2.zip", b"")
    assert list_folders(course, "ps1") == []


@pytest.mark.parametrize(("path", "data", "why"), [
    ("amy/stuff/Untitled.ipynb", b"{", "which set"),
    ("amy/notes.txt", b"", "nothing for ps1, only notes.txt"),
    ("amy/ps1.py", b"", "not a notebook"),
    ("cem.zip", b"", "archive. Unpack it, put its files in submitted/ID/ps1/"),
    ("fay.docx", b"", "If it belongs to a student, put it in submitted/ID/ps1/"),
    ("ps1.ipynb", WORK, "owner is unclear"),
    ("amy/ps1-ps2/Untitled.ipynb", b"{", "which set"),
    (f"{'x' * 129}/ps1/ps1.ipynb", WORK, "128"),
    ("a\nb/ps1/ps1.ipynb", WORK, "control"),
    (os.fsdecode(b"\xff\xfe/ps1/ps1.ipynb"), WORK, "UTF-8"),
])  # fmt: skip
def test_what_nobody_can_tell_needs_a_person(course, path, data, why):
    put(course, path, data)
    folder = only(course)
    assert folder.state == WAITING
    assert why in folder.why
    folder.student.encode()
    with pytest.raises(ValueError, match="cannot be graded"):
        read_submission(folder)


@pytest.mark.parametrize("path", ["amy", "amy/stuff"])
def test_an_empty_folder_needs_a_person(course, path):
    put(course, f"{path}/.DS_Store", b"")
    assert only(course).state == WAITING
    assert "empty" in only(course).why


def test_what_systems_leave_behind_is_passed_over(course):
    put(course, ".DS_Store", b"")
    put(course, "__MACOSX/amy/ps1/._ps1.ipynb", b"")
    put(course, "amy/ps1/ps1.ipynb")
    put(course, "amy/ps1/.ipynb_checkpoints/ps1-checkpoint.ipynb", MORE)
    assert read_submission(only(course)).review_reason == ""


def test_what_names_no_set_is_listed_for_each_and_is_nobodys(course):
    put(course, "cem.zip", b"")
    put(course, "ps2.zip", b"")
    put(course, "amy/ps1/ps1.ipynb")
    found = listed(course)
    assert {name: (each.student, each.state) for name, each in found.items()} == {
        "amy/ps1": ("amy", ""),
        "cem.zip": ("", WAITING),
    }
    assert [folder.name for folder in list_folders(course, "ps2")] == ["cem.zip", "ps2.zip"]


def test_what_lies_beside_a_students_sets_is_told(course):
    put(course, "amy/ps1/ps1.ipynb")
    put(course, "amy/answers.docx", b"")
    put(course, "amy/ps2/ps2.ipynb", OTHER)
    assert read_submission(only(course)).remarks == (
        "files that are not in a folder for a set: answers.docx",
    )


@pytest.mark.parametrize("known", ["zo\u00e9", "zoe\u0301", "ZO\u00c9"])
@pytest.mark.parametrize("called", ["zo\u00e9", "zoe\u0301", "Zo\u00e9", "zo\u00e9\u200f"])
def test_a_folder_belongs_to_the_student_it_names_in_any_spelling(course, known, called):
    put(course, f"{called}/ps1/ps1.ipynb")
    [folder] = list_folders(course, "ps1", [known, "zoe"])
    assert (folder.student, folder.name) == (known, f"{called}/ps1")
    assert read_submission(folder).notebook == WORK
    assert bool(folder.remarks) is (called != known)


def test_a_file_outside_does_not_say_how_an_id_is_spelt(course):
    put(course, "ps1_Zoe.ipynb")
    put(course, "zoe/ps1/ps1.ipynb")
    found = listed(course)
    assert {each.student for each in found.values()} == {"zoe"}
    assert not found["zoe/ps1"].state


def test_who_are_known_as_two_stay_two(course):
    put(course, "Ann/ps1/ps1.ipynb")
    put(course, "ann/ps1/ps1.ipynb", MORE)
    put(course, "ANN/ps1/ps1.ipynb", MORE)
    found = list_folders(course, "ps1", ["ann", "Ann"])
    assert [(each.name, each.student) for each in found if not each.state] == [
        ("Ann/ps1", "Ann"),
        ("ann/ps1", "ann"),
    ]
    [unsure] = (each for each in found if each.state)
    assert unsure.why == "its name matches Ann and ann; rename it to the right student's id"


def test_of_a_students_two_folders_the_exactly_named_counts(course):
    put(course, "amy/PS1/ps1.ipynb")
    put(course, "amy/ps1/ps1.ipynb")
    put(course, "ps1_amy.ipynb")
    found = listed(course)
    assert {name for name, folder in found.items() if not folder.state} == {"amy/ps1"}
    assert found["amy/PS1"].state == found["ps1_amy.ipynb"].state == WAITING
    assert "amy/ps1 by the same student was graded" in found["amy/PS1"].why


def test_of_two_others_the_newest_counts(course):
    os.utime(put(course, "amy/ps1 (2).ipynb"), (1, 1))
    os.utime(put(course, "amy/ps1 (1).ipynb"), (2, 2))
    found = listed(course)
    assert not found["amy/ps1 (1).ipynb"].state
    assert found["amy/ps1 (2).ipynb"].state == WAITING


@pytest.mark.parametrize("path", ["amy", "amy/ps1", "amy/ps1/ps1.ipynb", "amy/ps1/data"])
@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_what_is_no_file_is_refused_and_never_followed(course, path, kind):
    secret = put(course, "../secret/ps1.ipynb")
    target = course.submitted / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if path == "amy/ps1/data":
        put(course, "amy/ps1/ps1.ipynb")
    if kind == "fifo":
        os.mkfifo(target)
    else:
        target.symlink_to(secret if path.endswith(".ipynb") else secret.parent)
    folder = only(course)
    if folder.state:
        assert folder.state == REFUSED
        assert "hand in the file itself" in folder.why
    else:
        with pytest.raises(RefusedError, match="hand in the file itself"):
            read_submission(folder)


def test_a_folder_swapped_for_a_link_is_not_followed(course):
    put(course, "amy/ps1/ps1.ipynb")
    put(course, "../secret/ps1.ipynb")
    folder = only(course)
    shutil.rmtree(course.submitted / "amy")
    (course.submitted / "amy").symlink_to(course.root / "secret")
    with pytest.raises(MachineryError):
        read_submission(folder)


def test_a_file_that_is_still_being_written_is_nobodys_fault(course, monkeypatch):
    path = put(course, "amy/ps1/ps1.ipynb")
    folder = only(course)
    dup = os.dup

    def grow(fd):
        path.write_bytes(WORK + b" ")
        return dup(fd)

    monkeypatch.setattr(bounds.os, "dup", grow)
    with pytest.raises(MachineryError, match="changed while"):
        read_submission(folder)


def test_what_cannot_be_opened_needs_a_person(course, monkeypatch):
    put(course, "amy/ps1/ps1.ipynb")
    put(course, "zoe/ps1/ps1.ipynb")
    open_ = os.open

    def denied(path, *rest, **more):
        if path == "amy":
            raise PermissionError(13, "Permission denied")
        return open_(path, *rest, **more)

    monkeypatch.setattr(bounds.os, "open", denied)
    found = listed(course)
    assert (found["amy"].state, found["zoe/ps1"].state) == (WAITING, "")
    assert "Permission denied" in found["amy"].why


def test_what_is_beyond_the_bounds_is_refused(course):
    put(course, "many/ps1/ps1.ipynb")
    for number in range(bounds.MOST_FILES):
        put(course, f"many/ps1/{number}", b"")
    put(course, f"deep/ps1/{'x/' * bounds.DEEPEST}ps1.ipynb")
    for name, sizes in {"large": (11,), "heavy": (9, 9, 9)}.items():
        put(course, f"{name}/ps1/ps1.ipynb")
        for number, size in enumerate(sizes):
            os.truncate(put(course, f"{name}/ps1/{number}.bin", b""), size << 20)
    put(course, "odd/ps1/ps1.ipynb")
    put(course, os.fsdecode(b"odd/ps1/\xff.csv"), b"")
    put(course, f"long/ps1/{'x' * 120}\x1b[2J.csv", b"")
    reasons = {
        "many/ps1": "more than 200 files", "deep/ps1": "more than 8 levels deep",
        "large/ps1": r"is 11\.0 MB, but the limit is 10\.0 MB",
        "heavy/ps1": r"add up to more than 20\.0 MB", "odd/ps1": "not valid UTF-8",
        "long/ps1": "control characters",
    }  # fmt: skip
    for name, folder in listed(course).items():
        with pytest.raises(RefusedError, match=reasons.pop(name)):
            read_submission(folder)
    assert not reasons


@pytest.mark.parametrize(("notebooks", "graded", "needs"), [
    ({"ps1.ipynb": RELEASED, "ps1-final.ipynb": WORK}, WORK, ""),
    ({"ps1.ipynb": NOTED, "ps1-copy1.ipynb": SPACED}, NOTED, ""),
    ({"ps1.ipynb": WORK, "Untitled.ipynb": OTHER}, WORK, ""),
    ({"ps1.ipynb": WORK, "ps1-final.ipynb": MORE}, WORK, "different work"),
    ({"ps1 (1).ipynb": WORK, "ps1 (2).ipynb": MORE}, MORE, "different work"),
    ({"ps1.ipynb": b"{", "ps1-final.ipynb": WORK}, WORK, "cannot be read"),
    ({"ps1.ipynb": b"{", "ps1-final.ipynb": b"["}, b"{", ""),
])  # fmt: skip
def test_of_several_notebooks_the_one_with_work_is_graded(course, notebooks, graded, needs):
    for at, (name, data) in enumerate(notebooks.items()):
        os.utime(put(course, f"amy/ps1/{name}", data), (at, at))
    handed = read_submission(only(course))
    assert handed.notebook == graded
    assert needs in handed.review_reason
    assert bool(handed.review_reason) is bool(needs)
    assert handed.files == {}


def test_files_are_found_from_where_the_notebook_is(course):
    put(course, "amy/ps1/inner/ps1.ipynb")
    put(course, "amy/ps1/inner/data.csv", b"1")
    assert read_submission(only(course)).files["data.csv"] == b"1"


@pytest.mark.parametrize(("stamp", "kept"), [
    (b"2026-02-02 15:58:23.948203 UTC\n", "2026-02-02 15:58:23.948203 UTC"),
    (b"\xff" * 1000, ""),
    (b"2026-13-99 99:99", ""),
])  # fmt: skip
def test_the_time_of_handing_in_is_nbgraders(course, stamp, kept):
    put(course, "amy/ps1/ps1.ipynb")
    put(course, "amy/ps1/timestamp.txt", stamp)
    handed = read_submission(only(course))
    assert handed.submitted == kept
    assert bool(handed.remarks) is not bool(kept)
    assert handed.files == {}


def test_without_a_release_or_a_folder_there_is_nothing_to_take_in(course):
    with pytest.raises(ValueError, match="'ps9' has no release"):
        list_folders(course, "ps9")
    course.submitted.rmdir()
    with pytest.raises(ValueError, match="submitted"):
        list_folders(course, "ps1")


def test_random_trees_are_listed_and_taken_in_or_named(course):
    rng = random.Random(1)
    parts = ["ps1", "PS1", "ps1 (1)", "ps2", "stuff", "amy", ".DS_Store", "a\tb", "x" * 130]
    parts += ["ps1.ipynb", "ps1-1.ipynb", "work.ipynb", "timestamp.txt", os.fsdecode(b"\xff")]
    data = [b"", WORK, RELEASED, OTHER, WORK[:1000], b"2026-01-01 10:00 UTC", b"\x00\xff"]
    counts = {}
    for _ in range(150):
        shutil.rmtree(course.submitted)
        course.submitted.mkdir()
        for _ in range(rng.randint(1, 12)):
            path = course.submitted.joinpath(*rng.choices(parts, k=rng.randint(1, 4)))
            if os.path.lexists(path):
                continue
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                match rng.randrange(8):
                    case 0:
                        path.symlink_to(rng.choice([course.root, path.parent, "/dev/zero"]))
                    case 1:
                        os.mkfifo(path)
                    case _:
                        path.write_bytes(rng.choice(data))
            except OSError:
                continue  # a file stands where a folder should
        for folder in list_folders(course, "ps1"):
            state = folder.state or outcome(folder)
            counts[state] = counts.get(state, 0) + 1
    assert set(counts) == {"taken", REFUSED, WAITING}


def outcome(folder):
    try:
        handed = read_submission(folder)
    except RefusedError:
        return REFUSED
    assert isinstance(handed.notebook, bytes)
    return "taken"
