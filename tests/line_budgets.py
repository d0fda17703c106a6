"""How many lines of Python each part of the repository has, and how many it may have.

CONTRIBUTING.md holds the budgets, in the table below "Budgets".
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGET_ROW = re.compile(r"^\| `(\w+)/` \| ([\d,]+) \|$", re.MULTILINE)


def read_budgets():
    """Return each folder's budget by its name."""
    rows = BUDGET_ROW.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    return {name: int(lines.replace(",", "")) for name, lines in rows}


def count_lines(folder):
    """The lines of Python in a folder of the repository, comments and blank lines included."""
    files = (ROOT / folder).rglob("*.py")
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


def describe_budgets():
    """One line that compares every folder with its budget."""
    budgets = read_budgets().items()
    parts = (f"{name} {count_lines(name):,} of {budget:,}" for name, budget in budgets)
    return f"Lines of Python: {', '.join(parts)}."
