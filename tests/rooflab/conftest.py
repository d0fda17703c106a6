"""Figures are drawn without a window, and closed again."""

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def _no_windows_and_no_leftovers():
    plt.switch_backend("Agg")
    yield
    plt.close("all")
