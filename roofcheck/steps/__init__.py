"""Derivations of answers: arithmetic, inputs, steps and values."""
