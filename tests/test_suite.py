"""What the suite watches over time: the cost of each test file, the lines of each package."""

from file_costs import grown_files
from line_budgets import count_lines, read_budgets


def test_a_file_that_doubles_is_noticed_on_a_machine_of_any_speed():
    before = {"tests/a.py": 10.0, "tests/b.py": 20.0, "tests/c.py": 6.0, "tests/d.py": 0.5}
    for slower in (0.5, 1, 3):
        now = {name: slower * seconds for name, seconds in before.items()}
        assert grown_files(now, before) == []
        (complaint,) = grown_files(now | {"tests/c.py": slower * 18.5}, before)
        assert "tests/c.py" in complaint
        assert grown_files(now | {"tests/new.py": slower * 7}, before) == []
        assert grown_files(now | {"tests/d.py": slower * 2}, before) == []


def test_no_folder_has_more_lines_than_it_may():
    budgets = read_budgets()
    assert {"roofkit", "rooflab", "roofcheck", "roofgrade", "tools", "tests"} == set(budgets)
    over = {name: count_lines(name) - most for name, most in budgets.items()}
    assert not {name: lines for name, lines in over.items() if lines > 0}, "take something out"
