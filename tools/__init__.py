"""Builds what people use: notebooks from texts, decks and the site from notebooks, the kit."""
