"""Claims laid beside lines, as a reader does it: what is found, by its kind and its words."""

from groundwire.detection.comparison.aligned_span import ComparedText
from groundwire.detection.rules import MAX_LINES, Basis, ConflictKind, RuleFindings, find
from groundwire.detection.rules.find import Rule
from groundwire.text.lines import lines_of
from groundwire.text.quantities import QuantityIndex, quantities

Told = list[tuple[ConflictKind, str]]


def basis_of(*sources: str) -> Basis:
    """The lines of some sources, as a reader reads them."""
    return basis_of_lines([line.reading for source in sources for line in lines_of(source)])


def basis_of_lines(readings: list[str]) -> Basis:
    return Basis(readings, QuantityIndex.of(q for text in readings for q in quantities(text)))


def best_lines(claim: str, basis: Basis) -> list[str]:
    """The lines with most content words of a claim, best first."""
    wanted = ComparedText(claim).content
    common = {reading: len(wanted & basis.text(reading).content) for reading in basis.readings}
    return sorted(filter(common.__getitem__, common), key=lambda r: -common[r])[:MAX_LINES]


def findings(claim: str, *sources: str, before: str = "") -> RuleFindings:
    basis = basis_of(*sources)
    return find(claim, best_lines(claim, basis), basis, before)


def told(claim: str, *sources: str) -> Told:
    """What all rules find: kinds, and the words of the claim."""
    return [
        (each.kind, claim[each.start : each.end]) for each in findings(claim, *sources).conflicts
    ]


def told_by(rule: Rule, claim: str, *sources: str) -> Told:
    """What one rule finds, whatever else follows."""
    basis = basis_of(*sources)
    lines = tuple(map(basis.text, best_lines(claim, basis)))
    found = sorted(set(rule(ComparedText(claim), lines, basis)))
    return [(each.kind, claim[each.start : each.end]) for each in found]


def settled(claim: str, *sources: str, before: str = "") -> list[str]:
    """What plainly follows."""
    found = findings(claim, *sources, before=before)
    return [claim[start:end] for start, end in found.settled]
