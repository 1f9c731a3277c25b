"""Labelled answers from files; a module for each format."""
