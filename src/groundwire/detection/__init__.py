"""The input and the result of a check, and the steps between them that need no model.

Among these steps are the selection of the evidence and the rules. The models that score claims are
in :mod:`groundwire.engine`.
"""
