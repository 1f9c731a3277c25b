"""What a claim plainly gets wrong, by rule, beside the model: what a small model overlooks.

A rule lays a claim beside the lines of its evidence that have most in common with it. It finds
words in whose place the evidence has others ("Berlin" for "Paris", 42 miles for 42 km), a "not" on
one side alone, who did what to whom, whose a value is, a field that says "false". In doubt it finds
nothing: a finding raises what the model says of the words, and there is no other way back.

One module a concept: ``conflict`` has the value, ``basis`` the evidence as rules read it, ``names``
and ``clauses`` what both sides consist of; ``values``, ``replaced``, ``statements``, ``relations``
and ``cells`` have the rules; ``find`` joins them.
"""

from groundwire.detection.rules.basis import MAX_LINES, Basis
from groundwire.detection.rules.conflict import Conflict, ConflictKind
from groundwire.detection.rules.find import RuleFindings, find

__all__ = ["MAX_LINES", "Basis", "Conflict", "ConflictKind", "RuleFindings", "find"]
