"""Chooses a detector's threshold from labelled answers.

Every target except F1 is met with a statistical guarantee.
"""
