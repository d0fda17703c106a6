"""Measure this machine with ``measure``, and predict times with ``calibrate``.

``bench_process`` runs in its own process and times the kernels of a plan (``plans``) with a library
in ``backends``. ``bench_reader`` starts that process and reads its output. ``measurements`` keeps
every sample, and ``calibration`` fits how much of its roof the machine reaches. ``predictions`` are
times with intervals. ``gpu_kernels`` has the formulas for kernels on a GPU, and ``gpus`` the
constants fitted to GPUs that others timed.
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
