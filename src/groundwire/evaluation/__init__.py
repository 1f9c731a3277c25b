"""Evaluation of detectors on labelled answers: datasets, scores, reports, benchmarks, tuning."""
