"""Benchmarks by name: their official files, their own metric, and what others reached on them."""
