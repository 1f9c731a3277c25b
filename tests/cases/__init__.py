"""Cases written by hand: sources, an answer, and what a careful reader would mark in it.

The TOML files beside this are the cases, a table for each under the name of its class;
``case.py`` reads and judges them. ``python -m tests.cases`` prints how a model does.
"""
