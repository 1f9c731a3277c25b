"""Finds sentences, lines, quantities and words in texts, for all other packages."""
