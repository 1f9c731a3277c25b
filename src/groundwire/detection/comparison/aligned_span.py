"""A span beside its lines of evidence, with the words of both sides."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from groundwire.detection.comparison.words import (
    Word,
    content_of,
    has_negation,
    names_of,
    near,
    scope,
    telling,
    within,
    words_of,
)
from groundwire.detection.values import Claim, EvidenceRef, Span
from groundwire.text.quantities import Quantity, QuantityIndex, QuantityKind, quantities
from groundwire.text.vocabulary import HEDGES, NEGATIONS


@dataclass(frozen=True)  # no slots: what is read is kept beside the fields
class ComparedText:
    """A text, with its words, names and quantities, each read when it is first needed.

    Attributes:
        text: The text.
        place: Its place in a source, if it is a line of one.
    """

    text: str
    place: EvidenceRef | None = None

    @cached_property
    def words(self) -> list[Word]:
        """The words of the text, in reading order."""
        return words_of(self.text)

    @cached_property
    def content(self) -> frozenset[str]:
        """The stems of the content words."""
        return content_of(self.words)

    @cached_property
    def telling(self) -> list[Word]:
        """The words that tell what a place in the text is about."""
        return telling(self.words)

    def near(self, start: int, end: int) -> dict[str, int]:
        """The stems around a place in the text, each with its distance in words."""
        return near(self.telling, start, end)

    @cached_property
    def lowers(self) -> frozenset[str]:
        """The words in lower case, as word lists have them, without the month of May."""
        return frozenset(word.lower for word in self.words if word.text != "May")

    @cached_property
    def names(self) -> list[Word]:
        """The names in the text, in reading order."""
        return names_of(self.text, self.words)

    @cached_property
    def has_negation(self) -> bool:
        """Whether the text has a "not"."""
        return has_negation(self.words)

    @cached_property
    def negated(self) -> frozenset[str]:
        """The stems that the text negates."""
        return scope(self.text, self.words, NEGATIONS)

    @cached_property
    def hedged(self) -> frozenset[str]:
        """The stems that the text states with a "may" or the like."""
        return scope(self.text, self.words, HEDGES)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The numbers, times and dates of the text."""
        return quantities(self.text)

    @cached_property
    def index(self) -> QuantityIndex:
        """The index of the quantities, for comparison."""
        return QuantityIndex.of(self.quantities)


#: Lines of evidence, those that have most in common with a claim first.
Lines: TypeAlias = tuple[ComparedText, ...]


@dataclass(frozen=True)  # no slots, as above
class Held:
    """A span in its claim, beside lines of evidence.

    Attributes:
        claim: The claim.
        start: Where the span begins in the claim.
        end: One past its end.
        lines: The evidence, best first.
    """

    claim: ComparedText
    start: int
    end: int
    lines: Lines

    @classmethod
    def of(cls, span: Span, claim: Claim, evidence: Sequence[EvidenceRef]) -> "Held":
        """Lay a span and its claim beside evidence."""
        lines = tuple(ComparedText(ref.text, ref) for ref in evidence)
        return cls.within(span, ComparedText(claim.text), claim.start, lines)

    @classmethod
    def within(cls, span: Span, claim: ComparedText, claim_start: int, lines: Lines) -> "Held":
        """Lay a span beside texts that several spans share.

        A span that does not lie in the claim is taken to be all of it.
        """
        start, end = span.start - claim_start, span.end - claim_start
        if not 0 <= start < end <= len(claim.text):
            start, end = 0, len(claim.text)
        return cls(claim, start, end, lines)

    @property
    def evidence(self) -> tuple[EvidenceRef, ...]:
        """The places of the lines in their sources."""
        return tuple(line.place for line in self.lines if line.place is not None)

    @cached_property
    def span_words(self) -> list[Word]:
        """The words of the claim that overlap the span."""
        return within(self.claim.words, self.start, self.end)

    @cached_property
    def span_content(self) -> frozenset[str]:
        """The stems of the span's content words."""
        return content_of(self.span_words)

    @cached_property
    def rest_content(self) -> frozenset[str]:
        """The stems of what the claim says beside the span."""
        inside = set(self.span_words)
        return content_of(word for word in self.claim.words if word not in inside)

    @cached_property
    def relevant(self) -> Lines:
        """The lines with at least half as much in common with the claim as the best, if any."""
        common = [len(line.content & self.claim.content) for line in self.lines]
        best = max(common, default=0)
        return tuple(
            line for line, n in zip(self.lines, common, strict=True) if best and 2 * n >= best
        )

    @cached_property
    def line_content(self) -> frozenset[str]:
        """The stems of all lines."""
        return frozenset().union(*(line.content for line in self.lines))

    @cached_property
    def index(self) -> QuantityIndex:
        """The quantities of all lines."""
        return QuantityIndex.union(line.index for line in self.lines)

    @cached_property
    def numbers(self) -> dict[tuple[str | None, str | None], list[float]]:
        """The numbers of all lines by base unit and unit, ascending."""
        found: dict[tuple[str | None, str | None], list[float]] = {}
        for line in self.lines:
            for quantity in line.quantities:
                if quantity.kind is QuantityKind.NUMBER:
                    found.setdefault((quantity.unit, quantity.name), []).append(quantity.number)
        return {key: sorted(numbers) for key, numbers in found.items()}
