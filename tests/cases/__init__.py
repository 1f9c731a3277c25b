"""Cases written by hand: sources, an answer, and what a careful reader would mark in it.

The TOML files in this folder have the cases, one table for each, under the name of its class.
``case.py`` reads the cases and decides whether a detector passes them. ``python -m tests.cases``
prints how many cases a model passes.
"""
