"""Reads texts for all other rooms: sentences, lines, quantities, words."""
