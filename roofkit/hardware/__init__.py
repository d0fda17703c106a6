"""Chips and their interconnects, read from chips.toml."""

from roofkit.hardware.chips import Chip, ChipTable
from roofkit.hardware.figures import Figure
from roofkit.hardware.interconnect import Interconnect
from roofkit.hardware.tables import chip, chips, load_chips

__all__ = ["Chip", "ChipTable", "Figure", "Interconnect", "chip", "chips", "load_chips"]
