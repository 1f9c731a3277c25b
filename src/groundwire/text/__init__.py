"""Texts as all rooms read them: sentences, lines, quantities, words."""
