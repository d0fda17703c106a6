"""How many lines of Python each part of the repository has, and how many it may have.

CONTRIBUTING.md holds the budgets, in the table below "Budgets". Its last column is the most that a
folder may have which has not met its budget yet.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGET_ROW = re.compile(r"^\| `(\w+)/` \| ([\d,]+) \|(?: ([\d,]+))? \|$", re.MULTILINE)


def read_budgets():
    """Each folder's budget and the most lines it may have today, by its name."""
    rows = BUDGET_ROW.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    numbers = {name: [int(each.replace(",", "")) for each in row if each] for name, *row in rows}
    return {name: (limits[0], limits[-1]) for name, limits in numbers.items()}


def count_lines(folder):
    """The lines of Python in a folder of the repository, comments and blank lines included."""
    files = (ROOT / folder).rglob("*.py")
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


def describe_budgets():
    """One line that compares every folder with its budget."""
    budgets = {name: budget for name, (budget, _) in read_budgets().items()}
    parts = (f"{name} {count_lines(name):,} of {budget:,}" for name, budget in budgets.items())
    return f"Lines of Python: {', '.join(parts)}."
