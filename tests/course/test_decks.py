"""What a lecture's cells become in a deck, and how a talk chooses among its slides."""

import tomllib
from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import roofkit as rk
from tools.slides import build as slides
from tools.slides import decks
from tools.slides.talks import read_talk

ROOT = Path(__file__).resolve().parents[2]

CHECK = 'check("l01.v6e-comms", t)'
PREDICT = 'predict("l01.h100-math", ...)'


def talk_text(*slides):
    """The TOML of a talk of nine minutes with these slides."""
    return "\n".join(("title = 'T'\nminutes = 9", *(f"[[slide]]\n{each}" for each in slides)))


ERRORS = tomllib.loads(Path(__file__).with_name("talk-errors.toml").read_text(encoding="utf-8"))
TALK = "title = 'Why?'\nminutes = 15\n[[slide]]\nid = 't-open'\n[[slide]]\nid = 't-math'\n"


def cell(cell_id, slide, source, *outputs):
    new = new_code_cell if outputs or source in (CHECK, PREDICT) else new_markdown_cell
    made = new(source, id=cell_id)
    if slide != "-":
        made.metadata.slideshow = {"slide_type": slide}
    if outputs:
        made.outputs = [new_output("display_data", data=data) for data in outputs]
    return made


LECTURE = [
    cell("t-before", "notes", "On no slide."),
    cell("t-open", "slide", "# A title"),
    cell("t-say", "notes", "Say *this* first, of $T_\\text{math}$."),
    cell("t-math", "subslide", "### A guess"),
    cell("t-guess", "skip", PREDICT),
    cell("t-picture", "-", "show(ax)", {"text/html": "<img>"}),
    cell("t-reveal", "fragment", "reveal(...)", {"text/html": "<b>It is 1 ms.</b>"}),
    cell("t-second", "fragment", "table(...)", {"text/html": "<table></table>"}),
    cell("t-folded", "notes", "<details><summary>Why so</summary>\n\nBecause.\n\n</details>"),
    cell("t-asked", "skip", CHECK),
    cell("t-hole", "-", "t = ...", {"text/plain": "1"}),
]


@pytest.fixture
def both():
    return decks.split_slides(new_notebook(cells=deepcopy(LECTURE)))


def staged(slide):
    return {cell.id: cell for cell in slide.stage_cells(60)}


def test_a_slide_reaches_to_the_next(both):
    assert [slide.id for slide in both] == ["t-open", "t-math"]
    assert [cell.id for cell in both[0].cells] == ["t-open", "t-say"]


def test_notes_are_one_script_with_a_mark_where_fragments_come(both):
    assert both[0].script == "Say *this* first, of $T_\\text{math}$."
    answer, rest = both[1].script.split("\n\n", 1)
    assert answer.startswith("[pause] **1.01\u00a0ms.**")
    assert rest == "[click]\n\n[click]\n\n**Why so.**\n\nBecause.\n\n[click]"


def test_a_check_shows_its_answer_and_the_usual_slip(both):
    answer = staged(both[1])["t-asked"]
    assert answer.metadata.slideshow.slide_type == "fragment"
    assert answer.source == (
        "**1.22\u00a0ms.** *1.09\u00a0ms?* That is <i>T</i><sub>math</sub>. "
        "Divide bytes here, not FLOPs."
    )


def test_no_line_ends_within_a_number_and_its_unit(both):
    both[1].cells[0].source = "### 2 · 10¹² FLOPs of 4 bits · or 3 by 5"
    shown = staged(both[1])["t-math"].source
    assert shown == "### 2\u00a0·\u00a010¹²\u00a0FLOPs of 4\u00a0bits · or 3 by 5"


def test_a_guess_is_left_to_the_speaker(both):
    assert "t-guess" not in staged(both[1])


def test_code_that_draws_is_folded_and_other_code_stays(both):
    shown = staged(both[1])
    tagged = [name for name, cell in shown.items() if "picture" in cell.metadata.get("tags", [])]
    assert tagged == ["t-picture", "t-reveal", "t-second"]
    assert shown["t-hole"].source == "t = ..."


def test_staging_leaves_the_lecture_as_it_is(both):
    before = nbformat.writes(new_notebook(cells=both[1].cells))
    both[1].stage_cells(1)
    assert nbformat.writes(new_notebook(cells=both[1].cells)) == before


def test_a_slide_takes_as_long_as_its_words_and_its_questions(both):
    # Five words of script, the formula being one of them, and the two of the title.
    assert decks.count_words(both[0].script) == 5
    assert both[0].seconds == decks.LOOKING_SECONDS + 60 * 7 / decks.WORDS_A_MINUTE
    spoken = (decks.count_words(both[1].script) + 2) * 60 / decks.WORDS_A_MINUTE
    assert both[1].seconds == pytest.approx(
        decks.LOOKING_SECONDS + spoken + 2 * decks.THINKING_SECONDS
    )


def test_a_formula_is_one_word_and_a_line_of_formulas_ten():
    assert decks.count_words("So $a < b$ is <b>true</b>.") == 4
    assert decks.count_words("So\n\n$$a < b$$\n\n$$c$$") == 21


def test_a_live_picture_is_given_time(both):
    before = both[1].seconds
    both[1].cells[2].outputs[0].data["text/html"] = '<div class="live-picture"></div>'
    assert both[1].seconds == before + decks.WATCHING_SECONDS


def test_a_talk_is_paced_over_its_minutes(both):
    lecture = new_notebook(cells=LECTURE)
    named = f"speaker = 'Ada'\naddress = 'https://example.org'\n{TALK}"
    told = slides.make_talk_deck(read_talk("t.toml", named), both, [lecture])
    assert told.cells[0].source == "# Why?\n\nAda"
    assert 'href="https://example.org"><img alt="" src="data:image/svg' in told.cells[-1].source
    deck = slides.make_talk_deck(read_talk("t.toml", TALK), both, [lecture])
    opening = [cell for cell in deck.cells if decks.get_slide_type(cell) == "slide"]
    assert [cell.id for cell in opening] == ["title", "t-open", "t-math"]
    # What the counted pace leaves of the minutes is for questions, at the end.
    seconds = [cell.metadata.timing for cell in opening]
    assert sum(seconds) == pytest.approx(15 * 60, abs=2)
    assert seconds[:2] == [decks.LOOKING_SECONDS, round(both[0].seconds)]
    assert deck.cells[0].source == "# Why?"
    assert deck.metadata.title == "Why?"


def test_the_figures_on_a_talks_own_slides_are_roofkits():
    text = (ROOT / "course/talk-300-times.toml").read_text(encoding="utf-8")
    served = rk.llm("Llama-3.1-8B").on("H100")
    for users in (1, 16, 64):
        step = served.decode(users, 2048).time
        row = f"| {users} | {1e3 * step:.2f} | {1 / step:.0f} | {users / step:,.0f} |"
        assert row in text
    longer = served.decode(16, 2048).time / served.decode(1, 2048).time
    assert f"16 users wait {longer:.2f} times as long, and together get {16 / longer:.0f}" in text
    assert f"= {rk.chip('H100').roofline().ridge:.0f}" in text


def test_a_talk_keeps_its_own_order(both):
    talk = read_talk("t.toml", talk_text("id = 't-math'", "id = 't-open'"))
    assert [slide.id for slide in talk.choose_slides(both)] == ["t-math", "t-open"]


@pytest.mark.parametrize(("text", "message"), ERRORS["talks"])
def test_an_error_in_a_talk_names_its_line(both, text, message):
    with pytest.raises(decks.DeckError) as error:
        read_talk("t.toml", text.replace("TALK\n", TALK)).choose_slides(both)
    assert str(error.value).startswith(message)


def test_the_talks_of_the_course_can_be_given():
    lectures = [
        nbformat.read(path, as_version=4) for path in sorted(ROOT.glob("course/en/*.ipynb"))
    ]
    everything = [slide for lecture in lectures for slide in decks.split_slides(lecture)]
    talks = sorted(ROOT.glob("course/talk*.toml"))
    assert len(talks) >= 3
    for path in talks:
        talk = read_talk(path.name, path.read_text(encoding="utf-8"))
        chosen = talk.choose_slides(everything)
        taken = sum(slide.seconds for slide in chosen) / 60
        # Words fill more than half of its time, and what is left is for questions, not to wait.
        assert 0.85 * talk.minutes < taken
        assert 0.5 * talk.minutes < sum(slide.words for slide in chosen) / decks.WORDS_A_MINUTE
        # It ends on its own answer and not on a lecture's.
        assert chosen[-1].id.startswith("own-")


def test_the_words_before_a_slide_are_spoken_first_and_take_their_time(both):
    talk = read_talk(
        "t.toml", talk_text('before = """Now\nthen."""\nid = \'t-open\'', "id = 't-math'")
    )
    opening, guess = talk.choose_slides(both)
    assert opening.script == f"Now then.\n\n{both[0].script}"
    assert opening.seconds == both[0].seconds + 60 * 2 / decks.WORDS_A_MINUTE
    assert guess.script == both[1].script


def test_a_pause_in_a_talks_own_words_gives_the_room_time_to_think(both):
    plain, asked = (
        read_talk("t.toml", talk_text(f"before = 'Why {mark}'\nid = 't-open'")).choose_slides(both)[
            0
        ]
        for mark in ("", "[pause]")
    )
    assert asked.seconds == plain.seconds + decks.THINKING_SECONDS


def test_a_talks_own_words_replace_the_notes_of_a_cell(both):
    text = talk_text(
        "id = 't-open'\ninstead.t-say = ''", "id = 't-math'\ninstead.t-folded = 'Half.'"
    )
    opening, guess = read_talk("t.toml", text).choose_slides(both)
    assert opening.script == ""
    before, after = both[1].script.split("**Why so.**\n\nBecause.")
    assert guess.script == f"{before}Half.{after}"
    assert guess.seconds < both[1].seconds


def test_a_talks_own_words_replace_an_answer_and_keep_its_mark(both):
    text = talk_text("id = 't-math'\ninstead.t-guess = 'One.'")
    [guess] = read_talk("t.toml", text).choose_slides(both)
    assert guess.script.split("\n\n")[:2] == ["[pause] One.", "[click]"]


def test_a_slide_of_a_talks_own_is_markdown_and_is_spoken_before(both):
    own = "## An end of C#\n\n| a | b |\n|---|---|"
    slides_of_talk = (
        "id = 't-open'",
        f"before = 'In the end:'\ntext = '''\n{own}\n'''",
        "text = '## More'",
    )
    talk = read_talk("t.toml", talk_text(*slides_of_talk))
    _, end, more = talk.choose_slides(both)
    assert [end.id, more.id] == ["own-1", "own-2"]
    assert end.cells[0].source == own
    assert (end.script, more.script) == ("In the end:", "")
    assert end.seconds == decks.LOOKING_SECONDS + 60 * (3 + 6) / decks.WORDS_A_MINUTE
    deck = slides.make_talk_deck(talk, both, [new_notebook(cells=LECTURE)])
    assert [cell.id for cell in deck.cells[-3:]] == ["own-1", "own-1-script", "own-2"]
    assert deck.cells[-1].metadata.slideshow.slide_type == "slide"


def test_the_minutes_of_a_talk_are_described(both):
    assert read_talk("t.toml", TALK).describe_minutes(both) == (
        "t.toml: 2 slides in 15 minutes: 0 to speak, 2 for the audience to look and think, and "
        "12 left for questions"
    )


NO_SLIDE = new_notebook(cells=[new_markdown_cell("# A title")])
FAILS = new_notebook(cells=[cell("f-open", "slide", "# A title"), new_code_cell("1 / 0")])


@pytest.mark.parametrize(("name", "content", "said"), [
    ("talk.toml", "", "talk.toml: a talk needs a title"),
    ("talk.toml", "\ufeff" + talk_text("id = 'l01-titel'"), "talk.toml:3: no slide"),
    ("talk.toml", "title = 'é'".encode("latin-1"), "talk.toml: save it as UTF-8"),
    ("own.ipynb", "no json", "own.ipynb: this is not a notebook"),
    ("own.ipynb", "[]", "own.ipynb: this is not a notebook"),
    ("own.ipynb", nbformat.writes(NO_SLIDE), "own.ipynb: no cell starts a slide; give one"),
    ("own.ipynb", nbformat.writes(FAILS), "own.ipynb: a cell fails: ZeroDivisionError: divis"),
])  # fmt: skip
def test_what_stops_the_builder_is_said_in_a_sentence(tmp_path, capsys, name, content, said):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert slides.main([str(path), "--no-pdf", "--into", str(tmp_path)]) == 1
    assert said in capsys.readouterr().err


def test_a_missing_file_browser_or_name_is_told(tmp_path, capsys, monkeypatch):
    assert slides.main([str(tmp_path / "none.ipynb"), "--no-pdf"]) == 1
    assert "none.ipynb" in capsys.readouterr().err
    assert slides.main(["a/talk.txt", "talk.ipynb", "--no-pdf"]) == 1
    assert "two sources would both become talk.html" in capsys.readouterr().err

    monkeypatch.setattr(slides, "find_browser", lambda: None)
    talk = tmp_path / "own.ipynb"
    talk.write_text(nbformat.writes(new_notebook(cells=[cell("o", "slide", "# A title")])))
    assert slides.main([str(talk), "--into", str(tmp_path)]) == 0
    assert "no Chromium: apt install chromium" in capsys.readouterr().out
    assert (tmp_path / "own.html").is_file()
