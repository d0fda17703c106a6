"""The live picture of a language model, compared with ring 1 on states all over what it can show."""

import itertools
import math
import random
import sys

import pytest
from driver import PATIENCE, ROOT, open_picture, run_cell, screenshot, until

import roofkit as rk
from roofkit.explore import model as explorer

sys.path.append(str(ROOT / "tools/site"))
PHONE = {"width": 390, "height": 844}
# Figures of states, by the functions that the picture draws from.
FIGURES = """
async ([source, data, states]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { figuresOf, settle } = await import(url);
  return states.map((wanted) => {
    const state = settle(data, wanted), { passes, served, ...totals } = figuresOf(data, state);
    return { state, passes, totals };
  });
}
"""
