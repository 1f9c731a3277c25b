"""Groundwire inside other tools; each module is loaded by its tool."""
