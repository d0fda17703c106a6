"""Measure this machine with ``measure``, and predict times with ``calibrate``.

``bench_process`` runs in a separate process and times the kernels of a plan (``plans``) with a
library from ``backends``. ``bench_reader`` starts that process and reads its output.
``measurements`` keeps every sample, and ``calibration`` fits how much of its roofline the machine
reaches. ``predictions`` has times with intervals. ``gpu_kernels`` has formulas for GPU kernels, and
``gpus`` uses constants fitted to published GPU timings.
"""

from roofkit.models.predictions import Prediction
from rooflab.machine.calibration import Calibration, calibrate
from rooflab.machine.gpus import GPUCalibration
from rooflab.machine.measurements import Measurements, measure

__all__ = ["Calibration", "GPUCalibration", "Measurements", "Prediction", "calibrate", "measure"]
