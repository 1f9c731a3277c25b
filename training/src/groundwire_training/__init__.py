"""Trains Groundwire's models (extra ``train``): data, labels, loops, calibration and export."""
