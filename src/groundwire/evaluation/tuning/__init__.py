"""Chooses a detector's threshold by labelled answers, with a guarantee or with an interval."""
