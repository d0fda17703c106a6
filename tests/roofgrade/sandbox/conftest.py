"""One sandbox for all tests of it."""

import os

import pytest

from roofgrade.common.errors import MachineryError
from roofgrade.sandbox import Box


@pytest.fixture(scope="session")
def box():
    """A Box with its warm Python running."""
    os.environ["GRADER_SECRET"] = "a password of whoever grades"
    box = Box()
    try:
        box.open({}).close()
    except MachineryError as error:
        pytest.skip(str(error))
    yield box
    box.stop()


@pytest.fixture
def child(box):
    """A fresh submission, without files."""
    with box.open({}) as child:
        yield child
