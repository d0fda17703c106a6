"""Draw roofkit's counts, and compare them with real machines.

- ``rooflab.plot`` draws figures, and ``rooflab.explore`` pictures with sliders
- ``rooflab.scratchpad`` has a fast and a slow memory for your own loops
- ``rooflab.machine`` measures this machine, and predicts times on GPUs from published timings
- ``rooflab.published`` has tables of published timings
"""
