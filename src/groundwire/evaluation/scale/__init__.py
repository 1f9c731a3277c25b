"""Judging many answers on many processors: worker processes, Ray, Spark."""
