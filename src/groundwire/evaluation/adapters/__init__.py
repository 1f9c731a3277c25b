"""Detectors of other projects behind this project's interface, so that one code scores all."""
