"""This machine's own roof: measure it, and calibrate it.

``measure`` and ``calibrate`` are the ways in.

``bench`` runs in a process of its own and times the kernels of a plan (``plans``) with one of the
libraries in ``backends``; ``worker`` starts that process and reads what it prints. ``measurements``
keeps every sample, and ``calibration`` fits what the machine reaches of its roof. ``predictions``
are times with intervals, ``gpu_kernels`` are the formulas for kernels on a GPU, and ``gpus`` holds
the constants fitted to GPUs that others timed.
"""

from rooflab.machine.calibration import Calibration, calibrate
from rooflab.machine.gpus import GPUCalibration
from rooflab.machine.measurements import Measurements, measure
from rooflab.machine.predictions import Prediction

__all__ = [
    "Calibration",
    "GPUCalibration",
    "Measurements",
    "Prediction",
    "calibrate",
    "measure",
]
