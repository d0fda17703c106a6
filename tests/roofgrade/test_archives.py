"""A class in a zip goes where nbgrader looks for it, and every entry is accounted for."""

import io
import random
import shutil
import stat
import struct
import zipfile

import pytest
from damage import RELEASED, made
from homework import make_releases

from roofgrade.common import safe_files
from roofgrade.course import Course
from roofgrade.intake.lms_archives import unpack_archive
from roofgrade.intake.submitted_folders import list_folders

WORK = made()


@pytest.fixture
def course(tmp_path):
    """A course with two releases, and nothing handed in."""
    return Course(make_releases(tmp_path))


def pack(course, entries):
    """A zip of these files, by name or ZipInfo."""
    path = course.root / "class.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in entries.items() if isinstance(entries, dict) else entries:
            made.writestr(name, data)
    return path


def there(course):
    """What stands in submitted/ now."""
    root = course.submitted
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def unpacked(course, entries, people=None):
    """What became of each entry, by its name."""
    told = unpack_archive(pack(course, entries), course, "ps1", people)
    assert len(told) == len(entries)
    placed = {each.to for each in told if each.to}
    assert placed <= there(course)
    assert all(each.to or each.why for each in told)
    return {each.entry: each for each in told}


def test_a_set_that_nobody_released_is_refused(course):
    with pytest.raises(ValueError, match=r"'ps9' has no release.*ps1, ps2"):
        unpack_archive(pack(course, {"ada/ps9/ps9.ipynb": WORK}), course, "ps9")
    assert not course.submitted.exists()


@pytest.mark.parametrize(("entry", "student"), [
    ("Ada Lovelace_12345_assignsubmission_file_/ps1.ipynb", "ada-lovelace-12345"),
    ("lovelaceada_LATE_123_456_ps1-1.ipynb", "lovelaceada-123"),
    ("ada/ps1/ps1.ipynb", "ada"),
    ("zoe\u0301/ps1.ipynb", "zo\u00e9"),
    ("रमा शर्मा_1_assignsubmission_file_ps1.ipynb", "रमा-शर्मा-1"),
    ("Group 7/bob/ps1/ps1.ipynb", "Group 7"),
])  # fmt: skip
def test_without_a_roster_the_names_in_the_zip_make_the_ids(course, entry, student):
    unpacked(course, {entry: WORK})
    assert {name.split("/")[0] for name in there(course)} == {student}


def test_a_zip_sets_no_time_and_canvass_late_mark_is_passed_on(course):
    told = unpacked(course, {"lovelaceada_LATE_123_456_ps1.ipynb": WORK})
    assert [each.why for each in told.values()] == ["Canvas marked it as late"]
    assert not any("timestamp" in name for name in there(course))


@pytest.mark.parametrize(("entry", "why"), [
    ("/etc/ps1.ipynb", "points outside the archive"),
    ("ada\\..\\..\\ps1.ipynb", "points outside the archive"),
    ("C:\\ada\\ps1.ipynb", "points outside the archive"),
    ("__MACOSX/ada/._ps1.ipynb", "created by"),
    ("ada/ps2/ps2.ipynb", "for ps2"),
    ("ps1.ipynb", "its owner is unclear"),
    (f"{'x' * 129}/ps1.ipynb", "128"),
    (f"ada/{'漢' * 100}.csv", "255"),
    ("<script>alert(1)</script>/ps1.ipynb", "'<script>alert(1)<' cannot be used as an id"),
    ("ada_1_2_..", "not a valid file name"),
    ("ada/a\nb.ipynb", "control"),
    ("ada/" + "x/" * 9 + "ps1.ipynb", "deep"),
    ("ada/ps1/", "empty"),
])  # fmt: skip
def test_what_is_left_out_says_why(course, entry, why):
    if entry.endswith("/"):
        assert unpack_archive(pack(course, {entry: b""}), course, "ps1") == []
        return
    [told] = unpacked(course, {entry: WORK}).values()
    assert (told.to, there(course)) == ("", set())
    assert why in told.why
    told.entry.encode()


def test_links_and_devices_are_left_out(course):
    link, device = zipfile.ZipInfo("ada/ps1.ipynb"), zipfile.ZipInfo("bea/ps1.ipynb")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    device.external_attr = stat.S_IFCHR << 16
    told = unpacked(course, [(link, b"/etc/passwd"), (device, b"")])
    assert all("a link or another special file" in each.why for each in told.values())
    assert there(course) == set()


def test_of_an_entry_that_is_there_twice_the_last_counts(course):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = pack(course, [("ada/ps1.ipynb", RELEASED), ("ada/ps1.ipynb", WORK)])
    first, last = unpack_archive(path, course, "ps1")
    assert "twice" in first.why
    assert (course.submitted / last.to).read_bytes() == WORK


def test_a_file_called_like_a_folder_is_left_out(course):
    told = unpacked(course, {"ada/ps1.ipynb": WORK, "ada/x": b"", "ada/x/y": b""})
    assert "same name as a folder" in told["ada/x/y"].why


def test_names_that_are_not_marked_as_utf_8_are_read_as_it(course):
    path = pack(course, {"a\u00e9a/ps1.ipynb": WORK})
    raw = bytearray(path.read_bytes())
    for start in (b"PK\x03\x04", b"PK\x01\x02"):
        at = raw.index(start) + (6 if start == b"PK\x03\x04" else 8)
        struct.pack_into("<H", raw, at, 0)
    path.write_bytes(raw)
    unpack_archive(path, course, "ps1")
    assert there(course) == {"a\u00e9a/ps1/ps1.ipynb"}


def test_an_encrypted_entry_is_left_out(course):
    path = pack(course, {"ada/ps1.ipynb": WORK})
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(raw)
    [told] = unpack_archive(path, course, "ps1")
    assert told.why == "it is encrypted"


def test_bombs_are_refused(course):
    flat = bytes(9 << 20)
    with pytest.raises(ValueError, match="zip bomb"):
        unpack_archive(
            pack(course, {f"s{number}/ps1/x": flat for number in range(3)}), course, "ps1"
        )
    noise = random.Random(1).randbytes(300_000)
    told = unpacked(course, {"ada/ps1/x": flat, "bea/ps1/y": noise})
    assert "zip bomb" in told["ada/ps1/x"].why
    assert there(course) == {"bea/ps1/y"}


def test_what_is_larger_than_grading_takes_is_left_out(course):
    noise = random.Random(1).randbytes(1 << 20)
    told = unpacked(course, {"ada/ps1/x": noise * 11, "ada/ps1/ps1.ipynb": WORK})
    assert "larger than 10 MB" in told["ada/ps1/x"].why
    many = {f"bea/ps1/{number}": b"" for number in range(201)}
    told = unpacked(course, many)
    assert [each.to for each in told.values()].count("") == 1


def test_what_is_no_zip_is_said_to_be_none(course):
    path = course.root / "class.zip"
    path.write_bytes(b"PK nonsense")
    for each in (path, course.root / "none.zip"):
        with pytest.raises(ValueError, match="cannot be read as a zip"):
            unpack_archive(each, course, "ps1")


def test_an_entry_without_a_name_is_reported_and_the_others_are_taken(course):
    path = course.root / "class.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("ada/ps1.ipynb", WORK)
        made.writestr("x", b"")
        made.filelist[-1].filename = ""
    taken, left = unpack_archive(path, course, "ps1")
    assert (taken.to, left.to, left.why) == ("ada/ps1/ps1.ipynb", "", "it has no name")


def test_unpacking_again_changes_nothing(course):
    entries = {"ada/ps1.ipynb": WORK}
    unpacked(course, entries)
    before = (course.submitted / "ada/ps1").stat()
    [told] = unpacked(course, entries).values()
    assert told.why == "it was already there"
    assert (course.submitted / "ada/ps1").stat() == before


def test_what_is_replaced_is_kept_and_does_not_come_back(course):
    unpacked(course, {"ada/ps1.ipynb": RELEASED})
    [told] = unpacked(course, {"ada/ps1.ipynb": WORK}).values()
    assert told.why == "the previous version is now in grading/earlier/ada/ps1/1"
    assert (course.grading / "earlier/ada/ps1/1/ps1.ipynb").read_bytes() == RELEASED
    [told] = unpacked(course, {"ada/ps1.ipynb": RELEASED}).values()
    assert told.why.startswith("a newer version is already there")
    assert (course.submitted / "ada/ps1/ps1.ipynb").read_bytes() == WORK
    assert [folder.name for folder in list_folders(course, "ps1")] == ["ada/ps1"]
    unpacked(course, {"ada/ps1.ipynb": WORK + b" "})
    assert (course.grading / "earlier/ada/ps1/2/ps1.ipynb").read_bytes() == WORK


def test_damaged_zips_are_unpacked_as_far_as_they_go_or_refused(course):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as made:
        for name in ("ada/ps1.ipynb", "bea_1_assignsubmission_file_/ps1.ipynb", "c_1_2_ps1.ipynb"):
            made.writestr(name, WORK[:3000])
    rng, path, outcomes = random.Random(1), course.root / "class.zip", set()
    ours = {path.name, *(each.name for each in course.root.iterdir())}
    for _ in range(400):
        raw = bytearray(whole.getvalue())
        for _ in range(rng.randint(1, 8)):
            # The directory at the end decides most.
            low = rng.choice([0, len(raw) - 300])
            raw[rng.randrange(low, len(raw))] = rng.randrange(256)
        path.write_bytes(raw[: rng.randrange(len(raw))] if rng.random() < 0.1 else raw)
        try:
            outcomes.update(bool(each.to) for each in unpack_archive(path, course, "ps1"))
        except ValueError:
            outcomes.add("refused")
        outside = {each.name for each in course.root.iterdir()}
        assert outside <= {*ours, "submitted", "grading"}
    assert outcomes == {True, False, "refused"}
    assert not [each for each in course.grading.iterdir() if each.name != "earlier"]


@pytest.mark.parametrize("step", ["written", "kept", "moved in"])
def test_an_unpacking_that_is_killed_loses_nothing_and_is_completed(course, step, monkeypatch):
    first = {"ada/ps1/ps1.ipynb": WORK, "ada/ps1/old.csv": b"1"}
    second = {"ada/ps1/ps1.ipynb": WORK + b" ", "ada/ps1/new.csv": b"2"}
    unpacked(course, first)
    if step == "moved in":
        shutil.rmtree(course.submitted)

    def killing(call):
        def done(*arguments, **options):
            call(*arguments, **options)
            raise KeyboardInterrupt

        return done

    module, name = (safe_files, "write_files") if step == "written" else (shutil, "move")
    with monkeypatch.context() as patch:
        patch.setattr(module, name, killing(getattr(module, name)))
        with pytest.raises(KeyboardInterrupt):
            unpacked(course, second)
    unpacked(course, second)
    found = [*course.submitted.rglob("*"), *course.grading.rglob("*")]
    assert {str(path.relative_to(course.root)) for path in found if path.is_file()} == {
        "submitted/ada/ps1/ps1.ipynb", "submitted/ada/ps1/new.csv",
        *(f"grading/earlier/ada/ps1/1/{name}" for name in ("ps1.ipynb", "old.csv")
          if step != "moved in"),
    }  # fmt: skip
    assert not (course.grading / "unpacking").exists()
