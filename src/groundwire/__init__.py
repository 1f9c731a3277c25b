"""Groundwire checks whether an LLM's answer is supported by what it was given."""

__version__ = "0.1.0"
