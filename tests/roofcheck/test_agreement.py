"""What counts as a rounding of a value."""

from cases import cases

from roofcheck.reading.agreement import agrees
from roofcheck.reading.reading import read_number


@cases(
    ("answer", "value", "fits"),
    [
        (0.0012, 0.00122, True),
        (150, 153.02, True),
        (200, 201.6, True),
        ("2.0e2", 200.6, True),
        (1.0, 0.996, True),
        (0.25, 0.245, True),
        (0.24, 0.245, True),
        (0.00098, 0.00101, False),
        (0.98, 1.02, False),
        (0.0013, 0.00122, False),
        (160, 153.02, False),
        (153.4, 153.02, False),
        (0.001, 0.00122, False),
    ],
)
def test_an_answer_agrees_to_the_digits_it_has_and_no_fewer_than_two(answer, value, fits):
    assert agrees([read_number(answer)], [value]) == fits
