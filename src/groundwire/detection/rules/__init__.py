"""Rules that find plain mistakes in a claim, of a kind that a small model overlooks.

A rule compares a claim with lines of its evidence. It finds, for example, a value where the
evidence has another (42 miles for 42 km), a "not" in only one of claim and evidence, swapped roles,
or "open" where a data field has another value ("status: closed"). In doubt, a rule finds nothing.

``conflict`` has the findings, ``basis`` the evidence as rules read it, ``clauses`` the parts of
claims and lines. ``values``, ``statements``, ``relations``, ``addresses``, ``cells`` and
``unrelated`` have the rules, and ``find`` applies them all.
"""

from groundwire.detection.rules.basis import MAX_LINES, Basis
from groundwire.detection.rules.conflict import Conflict, ConflictKind
from groundwire.detection.rules.find import RuleFindings, find

__all__ = ["MAX_LINES", "Basis", "Conflict", "ConflictKind", "RuleFindings", "find"]
