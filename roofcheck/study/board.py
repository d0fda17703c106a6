"""A scoreboard of a set's traffic puzzles: bytes moved, least bytes, and par."""

from roofcheck.kinds import Puzzle
from roofcheck.sentences import join_items, sentence
from roofcheck.tables.catalogue import questions_of_set
from roofkit._messages import Message


def board(name, **functions):
    """Return a table of the bytes that each function moves in its puzzle's first case.

    ``functions`` are the answers by the puzzles' names, such as ``scale=scale`` for "ps7.scale".
    Raises ValueError for an unknown set or name.

    >>> print(board("ps7", ring=lambda fabric: fabric.step()).message)
    0 of 9 at par or better.
    """
    puzzles = {
        key.partition(".")[2]: question
        for key, question in questions_of_set(name).items()
        if isinstance(question, Puzzle)
    }
    if not puzzles:
        raise ValueError(sentence("board.none", set=name))
    if unknown := set(functions) - set(puzzles):
        known = join_items(puzzles, "comma")
        raise ValueError(sentence("board.unknown", name=min(unknown), set=name, known=known))
    rows, reached = [], 0
    for key, puzzle in puzzles.items():
        least, par, moved = puzzle.play(functions.get(key))
        shown = f"{moved:,.0f}" if moved else "–"
        over = f"{moved / par - 1:+.0%}" if moved else ""
        rows.append([key, shown, f"{least:,.0f}", f"{par:,.0f}", over])
        reached += 0 < moved <= par
    head = [sentence(f"board.{key}") for key in ("puzzle", "moved", "least", "par", "over")]
    line = sentence("board.line", reached=reached, count=len(puzzles))
    return Message(line, head, rows)
