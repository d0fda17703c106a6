"""What people read comes from the tables of words: each sentence once, none written in code."""

import ast
import re
from pathlib import Path

from cases import cases

from roofcheck.sentences import join_items, sentence
from rooflab.explore.frame import WORDS
from rooflab.plot import wording

ROOT = Path(__file__).parents[2]
# Each table and the code that speaks from it.
ROOMS = {
    "roofcheck": (sentence, "roofcheck"), "figures": (wording.say, "rooflab/plot"),
    "live pictures": (WORDS, "rooflab/explore", "roofkit/network/groups.py"),
}  # fmt: skip
PROSE = re.compile(r"[A-Za-z][a-z']+,? [a-z]+,? [a-z]+")
# Functions that speak to whoever writes a question, in English like every other error.
TO_AUTHORS = {"suggest_name", "problems", "find_problems"}
# Names of slips and layers, words that students type, code of others, and Matplotlib's places.
NO_SENTENCES = {
    "it cannot be parsed", "no peak at all", "outside lower center", "norms, adds, activations",
    "the figures as written", "floating point operation", "known cases alone",
    "a question like another", "chips and years", " of the table", "the matrix unit",
    "can not tell", "impossible to tell", "not enough information", "a set of all pairs",
}  # fmt: skip


def sources(room, *suffixes):
    for place in ROOMS[room][1:]:
        path = ROOT / place
        for each in [path] if path.is_file() else path.rglob("*"):
            # A question's own words stand in its table, roofcheck/questions.
            if each.suffix in suffixes and "questions" not in each.parts:
                yield each.read_text(encoding="utf-8")


def silent(node):
    """Whether nothing within a node is shown as a sentence: errors, docstrings, patterns."""
    if isinstance(node, ast.FunctionDef):
        return node.name in TO_AUTHORS
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).startswith("re.")
    return isinstance(node, ast.Raise) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def labels(node):
    """What a call writes on a figure, as it stands in the code."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        written = [each.value for each in node.keywords if each.arg in ("label", "title")]
        if node.func.attr in ("set_xlabel", "set_ylabel", "set_title", "text", "annotate"):
            written += node.args
        for each in written:
            if isinstance(each, ast.Constant) and re.search(
                "[a-z]{3}", re.sub(r"\$.*?\$", "", str(each.value))
            ):
                yield each.value


def literals(node):
    """The texts in a tree that somebody may be shown."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif not silent(node):
        for part in ast.iter_child_nodes(node):
            yield from literals(part)


@cases("room", ROOMS)
def test_no_sentence_stands_in_the_code(room):
    written = {
        text for source in sources(room, ".py") for text in literals(ast.parse(source))
        if PROSE.search(text)
    }  # fmt: skip
    markup = {text for text in written if re.search(r"style=|: \d|^\s*import |pip install", text)}
    assert written - markup - NO_SENTENCES == set()


def test_no_label_of_a_figure_stands_in_the_code():
    nodes = (node for source in sources("figures", ".py") for node in ast.walk(ast.parse(source)))
    assert [label for node in nodes for label in labels(node)] == []


@cases("room", ROOMS)
def test_every_sentence_is_used_and_every_one_that_is_used_is_there(room):
    code, known = "\n".join(sources(room, ".py", ".j2", ".js")), set(ROOMS[room][0].templates())
    assert (
        set(re.findall(r"""(?<![.\w])(?:say|sentence|Sentence)\(\s*["']([\w.-]+)["']""", code))
        <= known
    )
    # A key stands whole in the code, or a text with gaps does, and what fills them.
    whole = set(re.findall(r"""["']([\w. ,-]+)["']|$""", code)) | set(re.findall(r"\.(\w+)", code))
    pieces = {piece for text in whole for piece in text.split("-")}
    pieces |= set(re.findall(r"\}-(\w+)\"", code))
    groups = re.findall(r"""(?:sentence_group = |word_for\()["'](\w+)["']""", code)
    code += "".join(f'f"{group}.{{name}}"\n' for group in groups)
    gaps = re.findall(r"""f"([\w.-]+\{[^"\n]*)"|$""", code) + re.findall(r"`([^`\n]+)`|$", code)
    patterns = [re.sub(r"\\\{.*?\\\}", "([\\\\w ,-]+)", re.escape(gap)) for gap in gaps if gap]
    met = [re.fullmatch(pattern.replace(r"\$", ""), key) for key in known for pattern in patterns]
    filled = {
        each[0] for each in met
        if each and {piece for group in each.groups() for piece in group.split("-")} <= pieces
    }  # fmt: skip
    assert known - whole - filled == set()


def test_a_list_goes_by_the_table(tmp_path, monkeypatch):
    (tmp_path / "en.toml").write_text(
        "list.comma = '{last}<{before}'\nlist.and = '{last}+{before}'"
    )
    monkeypatch.setattr(sentence, "folder", tmp_path)
    assert str(join_items("abcd")) == "d+c<b<a"
    assert (str(join_items("a")), str(join_items([]))) == ("a", "")
