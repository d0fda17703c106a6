"""Convolutional networks: their layers, what a pass over them asks, and those known by name."""
