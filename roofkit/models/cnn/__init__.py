"""Convolutional networks: layers, the cost of a pass, and a catalogue of known networks."""
