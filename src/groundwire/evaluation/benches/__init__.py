"""Benchmarks by name: their official files, their metrics, and published results."""
