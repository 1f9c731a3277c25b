"""Judges many answers in parallel: with worker processes."""
