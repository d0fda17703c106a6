"""This machine's own roof: measure it, calibrate it, compare it with what was predicted.

``rk.measure``, ``rk.calibrate`` and ``rk.compare`` are the ways in, and ``rk.calibration`` for a
GPU that others measured. ``bench`` runs in a process of its own and times the kernels of a plan
(``plans``) with one of the libraries in ``backends``, ``worker`` starts it and reads what it says,
``measurements`` keeps every sample, ``calibration`` fits what the machine reaches of its roof,
``comparison`` sets times beside predictions. ``predictions`` are times with intervals,
``gpu_kernels`` what decides them on a GPU, and ``gpus`` its calibrations.
"""
