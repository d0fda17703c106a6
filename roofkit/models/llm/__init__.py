"""Language models: their sizes, the cost of their passes, and serving them.

A name or a config (configs.py) gives an LLM (model.py). A Precision, a Split and Links say how it
is served (precision.py, split.py, links.py); with them it becomes a Deployment (deployment.py).
operation_counts.py derives the Operations of a pass on each chip, and chip_rates.py the speeds of
the chips. pass_counter.py combines them into tables and seconds; memory.py counts the bytes needed.
"""
