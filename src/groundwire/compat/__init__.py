"""Interfaces of other detectors, for code that was written against them."""
