"""The chips that questions draw from, and whose specs they compare answers with."""

import roofkit as rk

# This list is fixed, because a student's numbers must not change when the chip table grows.
CHIP_NAMES = (
    "V100 SXM2", "A100 40GB SXM", "A100 80GB SXM", "A100 80GB PCIe", "H100 SXM", "H100 PCIe",
    "H200", "B200", "GB200", "L40", "L40S", "RTX A6000", "RTX 4090", "Quadro RTX 6000",
    "GTX 1080 Ti", "MI250X", "MI300X", "TPU v3", "TPU v4", "TPU v5e", "TPU v5p", "TPU v6e",
    "TPU7x", "AGX Orin", "Xeon DDR4-2666 x6",
)  # fmt: skip


def course_chips():
    """Return the chips in CHIP_NAMES."""
    return [rk.chip(name) for name in CHIP_NAMES]
