"""Detectors of other projects behind this project's interface, so that the same code scores all."""
