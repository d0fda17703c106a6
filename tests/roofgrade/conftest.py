"""What tests of grading share: a faster nbgrader, and whether a sandbox can be started."""

import functools

import pytest
from nbgrader import api

from roofgrade.common.errors import MachineryError
from roofgrade.sandbox import Box

# nbgrader starts a program of its own to ask which version a new gradebook has, a second each time.
api.get_alembic_version = functools.cache(api.get_alembic_version)


@pytest.fixture(scope="session")
def sandbox():
    """Skips where no sandbox can be started, with the reason."""
    box = Box()
    try:
        box.open({}).close()
    except MachineryError as error:
        pytest.skip(str(error))
    box.stop()
