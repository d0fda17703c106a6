"""The suite itself: a test file whose cost grows is noticed."""

from file_costs import grown_files


def test_a_file_that_doubles_is_noticed_on_a_machine_of_any_speed():
    before = {"tests/a.py": 10.0, "tests/b.py": 20.0, "tests/c.py": 6.0, "tests/d.py": 0.5}
    for slower in (0.5, 1, 3):
        now = {name: slower * seconds for name, seconds in before.items()}
        assert grown_files(now, before) == []
        (complaint,) = grown_files(now | {"tests/c.py": slower * 18.5}, before)
        assert "tests/c.py" in complaint
        assert grown_files(now | {"tests/new.py": slower * 7}, before) == []
        assert grown_files(now | {"tests/d.py": slower * 2}, before) == []
