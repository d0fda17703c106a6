"""Language models: what they are, what a pass of them asks, and what serving it takes.

A config (configs.py) or a name gives an LLM (model.py). A Split (split.py) and a Precision
(precision.py) say how it lies on its chips, and count.py what a pass asks of each, as Operations.
serve.py meets them with chips (rates.py): tables, seconds, memory (memory.py).
"""
