"""Draw roofkit's results and compare them with real machines.

- ``rooflab.plot`` draws figures, and ``rooflab.explore`` makes interactive ones
- ``rooflab.scratchpad`` counts the bytes that your own loops move between two memories
- ``rooflab.machine`` measures this machine, and predicts times on GPUs from published timings
- ``rooflab.published`` has tables of published timings
- ``roofkit.account`` accounts for the time of one answer, as lectures 3 to 7 do
"""
