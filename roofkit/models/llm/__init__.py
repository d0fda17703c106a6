"""Language models: what they are, what a pass of them asks, and what serving it takes.

A config (configs.py) or a name gives an LLM (model.py). A Precision, a Split and Links say how it
is served (precision.py, split.py, links.py); all of that together is a Deployment (deployment.py).
From it, count.py derives the Operations that a pass asks of each chip, and rates.py what the chips
can do. passes.py brings the two together as tables and seconds, memory.py as bytes to hold.
"""
