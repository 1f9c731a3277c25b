"""Measures a detector on labelled answers. Imports no torch; numpy is all it needs."""
