"""What tests of grading need of the machine."""

import pytest

from roofkit.grading.errors import MachineryError
from roofkit.grading.sandbox import Box


@pytest.fixture(scope="session")
def sandbox():
    """Skips where no sandbox can be started, with the reason."""
    box = Box()
    try:
        box.open({}).close()
    except MachineryError as error:
        pytest.skip(str(error))
    box.stop()
