"""Evaluation of detectors on labelled answers."""
