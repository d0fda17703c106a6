"""The line that asks a question, as notebooks have it and as students edit it."""

from cases import cases

from roofcheck.cells import Asked, asked, calls, in_text


@cases(
    ("source", "found"),
    [
        ('check("q", x)', Asked("check", "q", "x")),
        ("check('q', x + 1, me)  # now", Asked("check", "q", "x + 1", "me")),
        ('check("q", x, me=who)', Asked("check", "q", "x", "who")),
        ('  check("q", x)', Asked("check", "q", "x")),
        ("predict(\n    'q',\n    240,\n)", Asked("predict", "q", "240")),
        ('reveal("q", roof.ridge)', Asked("reveal", "q", "roof.ridge")),
        ("review()", Asked("review")),
        # Without a question, or without what is to be judged.
        ('check(f"q", x)', Asked("check")),
        ('check("q")', Asked("check", "q")),
        ('check("q", me=who)', Asked("check", "q")),
        ('check("q", x, points=2)', Asked("check", "q")),
        (f'check("q", 1{" + 1" * 600})', Asked("check", "q")),
        # With more in the cell, or cut short.
        ('check("q", x)\n1e9', Asked("check", "q", "x", alone=False)),
        ('check("q", 3 GB)', Asked("check", "q", alone=False)),
        ('check("q", ', Asked("check", "q", alone=False)),
    ],
)
def test_a_call_is_read_as_it_stands(source, found):
    assert asked(source) == found


@cases("source", ["", 'y = check("q", x)', 'checked("q", x)', "\0", "x = = 1", 'check("q", x) + 1'])
def test_a_cell_that_begins_otherwise_asks_nothing(source):
    assert asked(source) is None


def test_calls_are_found_wherever_they_stand():
    source = 'y = check("a", x)\nfor n in range(2):\n    print(reveal("b", n), predict(c, n))'
    found = {each.call: each.question for each in calls(source)}
    assert found == {"check": "a", "reveal": "b", "predict": ""}
    assert not list(calls('check("a", x) = = 1'))


def test_in_a_text_each_code_cell_is_read_by_itself():
    text = (
        '+++ {"id": "x-prose"}\ncheck("no", x)\n\n```{code-cell}\n:id: x-one\n:tags: [setup]\n'
        'check("one", x)\n```\n\n```python\ncheck("no", x)\n```\n\n'
        "```{code-cell}\n:id: x-two\nx = 1\n```\n"
        '```{code-cell}\n:id: x-three\npredict("two")\n```\n'
    )
    found = [(cell, call.question) for cell, call in in_text(text)]
    assert found == [("x-one", "one"), ("x-three", "two")]
