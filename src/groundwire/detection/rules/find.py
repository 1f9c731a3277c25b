"""Applies all rules to a claim and its evidence."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from groundwire.detection.comparison.aligned_span import ComparedText, Lines
from groundwire.detection.rules import addresses, cells, relations, statements, unrelated, values
from groundwire.detection.rules.basis import Basis
from groundwire.detection.rules.conflict import Conflict, ConflictKind, RuleFinding
from groundwire.detection.values import Label

Rule = Callable[[ComparedText, Lines, Basis], Iterator[RuleFinding]]

RULES: tuple[Rule, ...] = (
    values.values,
    values.days,
    statements.negations,
    statements.ranks,
    relations.roles,
    addresses.addresses,
    cells.entries,
    cells.cells,
    unrelated.unrelated,
)
#: Lowest P(not supported) that the words of a finding get. In answers kept out of training, this
#: share of the findings was on words that people had also marked.
PROBABILITY = 0.6
#: A finding about a number, a date or an address counts only if the model's P(not supported) for
#: its words is at least this, unless :attr:`.RuleFinding.is_enough` is true.
_DOUBT = 0.12
_LACKED = frozenset({ConflictKind.NUMBER, ConflictKind.DATE, ConflictKind.REFERENCE})
_CITED_LABEL = re.compile(r"[\[(]([A-Z]{2,8}-?[0-9]{1,6})[\])]")
_UNSUPPORTED = frozenset({ConflictKind.REFERENCE, ConflictKind.UNRELATED})


@dataclass(frozen=True, slots=True)
class RuleFindings:
    """The findings of the rules about a claim; :meth:`moved` converts their offsets.

    Attributes:
        conflicts: The plain mistakes, in reading order; they may overlap.
        settled: The ranges ``[start, end)`` of the claim that plainly follow from the evidence.
        is_line: Whether the claim is a line of the evidence, word for word.
    """

    conflicts: tuple[Conflict, ...] = ()
    settled: tuple[tuple[int, int], ...] = ()
    is_line: bool = False

    def moved(self, places: Sequence[int]) -> "RuleFindings":
        """Convert the offsets to those in another text, such as the answer.

        ``places`` has, for each character of the claim, its offset in the other text.
        """
        ends = [place + 1 for place in places]
        conflicts = (replace(c, start=places[c.start], end=ends[c.end - 1]) for c in self.conflicts)
        settled = ((places[start], ends[end - 1]) for start, end in self.settled)
        return RuleFindings(tuple(conflicts), tuple(settled), self.is_line)


def find(claim: str, lines: Iterable[str], basis: Basis, before: str = "") -> RuleFindings:
    """Apply all rules to a claim, unless the claim is itself a line of the evidence.

    ``lines`` are the lines of the evidence that have most in common with the claim, best first.
    ``before`` is the previous claim of the answer, or empty. A finding is dropped if it overlaps a
    range of the claim that plainly follows from the evidence.
    """
    if basis.has_line(claim):
        return RuleFindings(settled=((0, len(claim)),), is_line=True)
    text, best = ComparedText(claim), tuple(map(basis.text, lines))
    settled = values.settled(text, best, basis, before) + labels(claim, basis)
    found = {each for rule in RULES for each in rule(text, best, basis)}
    wrong = [each for each in sorted(found) if not _lies_in(each, settled)]
    return RuleFindings(tuple(map(_conflict, wrong)), settled)


def labels(claim: str, basis: Basis) -> tuple[tuple[int, int], ...]:
    """Return the ranges of cited labels ("FIN-08" in "[FIN-08]") that the evidence has too."""
    found = _CITED_LABEL.finditer(claim)
    return tuple(match.span(1) for match in found if basis.mentions(match[1]))


def _lies_in(found: RuleFinding, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(start < found.end and found.start < end for start, end in ranges)


def _conflict(found: RuleFinding) -> Conflict:
    label = Label.UNSUPPORTED if found.kind in _UNSUPPORTED else Label.CONTRADICTED
    floor = _DOUBT if found.kind in _LACKED and not found.is_enough else 0.0
    return Conflict(found.start, found.end, found.kind, label, PROBABILITY, floor)
