"""Decks to present, built from the notebooks."""
