"""Finds sentences, lines, quantities and words in texts; also reads and writes text files."""
