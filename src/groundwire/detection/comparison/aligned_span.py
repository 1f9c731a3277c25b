"""A span together with the lines of evidence that it is compared with, and the words of both."""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from groundwire.detection.comparison.words import (
    Word,
    around,
    content_of,
    has_negation,
    names_of,
    scope,
    words_of,
)
from groundwire.detection.values import EvidenceRef, Span
from groundwire.text.quantities import Quantity, QuantityIndex, quantities
from groundwire.text.vocabulary import HEDGES, NEGATIONS

#: Limit on the words on each side of a place that count as near; see :meth:`ComparedText.near`.
_NEAR = 4


@dataclass(frozen=True)  # no slots: cached_property needs a __dict__
class ComparedText:
    """A text, with its words, names and quantities, which are found when they are first needed.

    Attributes:
        text: The text.
        place: Place of the text in a source; ``None`` if the place is not known, or the text is
            not from a source.
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
        """The content words that do not begin with a digit; they show what the text is about."""
        return [word for word in self.words if word.is_content and not word.text[0].isdigit()]

    def near(self, start: int, end: int) -> dict[str, int]:
        """Return the stems of words near ``[start, end)``, each with its distance from this range.

        Only the words in :attr:`telling` count: up to four on each side, the nearest at distance 1.
        """
        found: dict[str, int] = {}
        for side in around(self.telling, start, end, _NEAR):
            for distance, word in enumerate(side, start=1):
                found[word.stem] = min(distance, found.get(word.stem, distance))
        return found

    @cached_property
    def lowers(self) -> frozenset[str]:
        """The words in lower case, except "May", which may be the month."""
        return frozenset(word.lower for word in self.words if word.text != "May")

    @cached_property
    def names(self) -> list[Word]:
        """The names in the text, in reading order."""
        return names_of(self.text, self.words)

    @cached_property
    def has_negation(self) -> bool:
        """Whether the text has a negation, such as "not"; "not only" and the like do not count."""
        return has_negation(self.words)

    @cached_property
    def negated(self) -> frozenset[str]:
        """The stems of the words that the text negates."""
        return scope(self.text, self.words, NEGATIONS)

    @cached_property
    def hedged(self) -> frozenset[str]:
        """The stems of the words that the text hedges, with "may" or the like."""
        return scope(self.text, self.words, HEDGES)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The numbers, times and dates of the text."""
        return quantities(self.text)


#: Lines of evidence to compare a claim with, best first.
Lines: TypeAlias = tuple[ComparedText, ...]


@dataclass(frozen=True)  # no slots: cached_property needs a __dict__
class Held:
    """A span, its claim, and the lines of evidence that both are compared with.

    Attributes:
        claim: The claim.
        start: Offset of the span in the claim.
        end: Offset after the span in the claim.
        lines: The lines of evidence, best first.
    """

    claim: ComparedText
    start: int
    end: int
    lines: Lines

    @classmethod
    def within(cls, span: Span, claim: ComparedText, claim_start: int, lines: Lines) -> "Held":
        """Put a span together with its claim and lines of evidence.

        ``claim_start`` is the offset of the claim in the answer. A span that does not lie in the
        claim is replaced by the whole claim.
        """
        start, end = span.start - claim_start, span.end - claim_start
        if not 0 <= start < end <= len(claim.text):
            start, end = 0, len(claim.text)
        return cls(claim, start, end, lines)

    @property
    def evidence(self) -> tuple[EvidenceRef, ...]:
        """The places of the lines in their sources; a line without a place is left out."""
        return tuple(line.place for line in self.lines if line.place is not None)

    @cached_property
    def span_words(self) -> list[Word]:
        """The words of the claim that overlap the span."""
        return [w for w in self.claim.words if w.start < self.end and w.end > self.start]

    @cached_property
    def span_content(self) -> frozenset[str]:
        """The stems of the span's content words."""
        return content_of(self.span_words)

    @cached_property
    def unknown(self) -> list[Word]:
        """The content words of the span that no line has."""
        return [w for w in self.span_words if w.is_content and w.stem not in self.line_content]

    @cached_property
    def rest_content(self) -> frozenset[str]:
        """The stems of the claim's content words outside of the span."""
        inside = set(self.span_words)
        return content_of(word for word in self.claim.words if word not in inside)

    @cached_property
    def relevant(self) -> Lines:
        """The lines that share at least half as many stems with the claim as the best line does.

        Empty if no line shares a stem with the claim.
        """
        common = [len(line.content & self.claim.content) for line in self.lines]
        best = max(common, default=0)
        return tuple(
            line for line, n in zip(self.lines, common, strict=True) if best and 2 * n >= best
        )

    @property
    def negated_otherwise(self) -> frozenset[str]:
        """The stems that claim and relevant lines share, and that only one of the two negates."""
        claim = self.claim
        line_negated = frozenset().union(*(line.negated for line in self.relevant))
        line_plain = frozenset().union(*(line.content - line.negated for line in self.relevant))
        turned = (claim.negated & line_plain) - line_negated
        return turned | ((line_negated & (claim.content - claim.negated)) - line_plain)

    @property
    def is_negated_alone(self) -> bool:
        """Whether the claim has a negation, and no relevant line has one."""
        return self.claim.has_negation and not any(line.has_negation for line in self.relevant)

    @cached_property
    def line_content(self) -> frozenset[str]:
        """The stems of the content words of all lines."""
        return frozenset().union(*(line.content for line in self.lines))

    @cached_property
    def index(self) -> QuantityIndex:
        """An index of the quantities of all lines."""
        return QuantityIndex.of(q for line in self.lines for q in line.quantities)
