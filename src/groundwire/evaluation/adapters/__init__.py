"""Detectors of other projects with this project's interface, so that the same code scores them."""
