"""Chooses a detector's threshold from labelled answers.

For every target except F1, a threshold is chosen only with a statistical guarantee that it meets
the target. If no threshold has this guarantee, none is chosen.
"""
