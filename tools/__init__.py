"""Builds the course's output: notebooks from texts, decks and the site from notebooks, the kit."""
