"""Input and result of the check of an answer, with the pure steps between: evidence, rules, spans.

The models that score claims are in :mod:`groundwire.engine`.
"""
