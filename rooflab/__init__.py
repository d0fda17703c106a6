"""See what roofkit counts, and compare it with what machines do.

- ``rooflab.plot`` draws figures, ``rooflab.explore`` pictures with sliders
- ``rooflab.scratchpad`` is a fast and a slow memory to write loops on
- ``rooflab.machine`` measures this machine, and predicts times on GPUs that others timed
- ``rooflab.published`` has the tables of what others timed
"""
