"""Finds the sentences, lines, quantities, words and language of texts; reads and writes files."""
