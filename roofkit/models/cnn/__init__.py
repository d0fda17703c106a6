"""Convolutional networks: their layers, the cost of a pass, and the networks known by name."""
