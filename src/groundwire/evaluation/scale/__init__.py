"""Judges many answers in parallel: with worker processes, on a Ray cluster, or with Spark."""
