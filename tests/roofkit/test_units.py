"""Numbers with their units, as people write them."""

import numpy as np
from cases import cases

from roofkit._units import quantity


@cases(
    ("value", "unit", "said"),
    [
        (3.35e12, "byte/s", "3.35 TB/s"),
        (80e9, "byte", "80 GB"),
        (0.992, "FLOP/B", "0.992 FLOP/B"),
        (0.00123456, "FLOP/byte", "0.001235 FLOP/byte"),
        (123456.0, "FLOP/byte", "1.235e+05 FLOP/byte"),
        (2550.4, "1/s", "2,550/s"),
        (104.95, "1/s", "105/s"),
        (12345678, "1/s", "12,350,000/s"),
        (0.25, "1/s", "0.25/s"),
        (132, "multiprocessors", "132 multiprocessors"),
        (1e-6, "s", "1 µs"),
        (989.4e12, "FLOP/s", "989 TFLOP/s"),
        (np.array([1e9, 4e12]), "byte/s", "1 GB/s to 4 TB/s [2]"),
        (np.array([100.0, 2550]), "1/s", "100/s to 2,550/s [2]"),
    ],
)
def test_a_quantity_is_written_as_people_do(value, unit, said):
    assert quantity(value, unit) == said
