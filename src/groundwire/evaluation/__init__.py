"""Evaluation of detectors on labelled answers, and of language models on questions."""
