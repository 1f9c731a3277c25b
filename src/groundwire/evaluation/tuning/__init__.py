"""Chooses a detector's threshold by labelled answers; except for F1, with a guarantee."""
