"""Detectors of other projects behind our interface, so that the same code measures them."""
