"""Language models: sizes, the cost of a pass, and serving.

configs.py makes an LLM (model.py) from a name or a config. With a Precision, a Split and Links
(precision.py, split.py, links.py), an LLM becomes a Deployment (deployment.py). operation_counts.py
derives the Operations of a pass on each chip, and chip_rates.py the speeds of the chips.
pass_counter.py combines both into tables and times, and memory.py computes memory use.
"""
