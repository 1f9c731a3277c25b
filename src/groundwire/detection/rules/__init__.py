"""Rules that find plain mistakes of a claim which a small model overlooks.

A rule compares a claim with the lines of its evidence that have most in common with it. It finds
words in whose place the evidence has others ("Berlin" for "Paris", 42 miles for 42 km), a "not" on
one side alone, swapped roles, a value that belongs to another, a field that says "false". In doubt
a rule finds nothing, since a finding raises the probability of the words and nothing lowers it.

``conflict`` has the findings, ``basis`` the evidence as rules read it, ``names`` and ``clauses``
the parts of both sides; ``values``, ``replaced``, ``statements``, ``relations``, ``cells`` and
``unrelated`` have the rules; ``find`` applies them all.
"""

from groundwire.detection.rules.basis import MAX_LINES, Basis
from groundwire.detection.rules.conflict import Conflict, ConflictKind
from groundwire.detection.rules.find import RuleFindings, find

__all__ = ["MAX_LINES", "Basis", "Conflict", "ConflictKind", "RuleFindings", "find"]
