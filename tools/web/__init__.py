"""What pages and decks share: formulas and fonts."""
