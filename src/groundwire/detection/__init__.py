"""The input and the result of a check, and the steps between them that need no model.

These steps select the evidence, apply the rules, and find the spans. The models that score claims
are in :mod:`groundwire.engine`.
"""
