"""A span as it is held against evidence: the words of both sides, read once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from groundwire.detection import Claim, EvidenceRef, Span
from groundwire.explain.words import Word, content_of, within, words_of
from groundwire.quantities import Quantity, quantities


@dataclass(frozen=True)  # no slots: what is read is kept beside the fields
class Text:
    """A text and what is read of it.

    Attributes:
        text: The text.
        place: Where it stands in its source, if it is a line of one.
    """

    text: str
    place: EvidenceRef | None = None

    @cached_property
    def words(self) -> list[Word]:
        """Its words, in reading order."""
        return words_of(self.text)

    @cached_property
    def content(self) -> frozenset[str]:
        """The stems of its content words."""
        return content_of(self.words)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Its numbers, times and dates."""
        return quantities(self.text)


@dataclass(frozen=True)  # no slots, as above
class Held:
    """A span in its claim, beside the lines of evidence.

    Attributes:
        claim: The claim.
        start: Where the span begins in the claim.
        end: One past its end.
        lines: The evidence, best first.
    """

    claim: Text
    start: int
    end: int
    lines: tuple[Text, ...]

    @classmethod
    def of(cls, span: Span, claim: Claim, evidence: Sequence[EvidenceRef]) -> "Held":
        """Lay a span and its claim beside evidence.

        A span that does not lie in the claim is taken to be all of it.
        """
        start, end = span.start - claim.start, span.end - claim.start
        if not 0 <= start < end <= len(claim.text):
            start, end = 0, len(claim.text)
        return cls(Text(claim.text), start, end, tuple(Text(ref.text, ref) for ref in evidence))

    @property
    def span_text(self) -> str:
        """The words of the span."""
        return self.claim.text[self.start : self.end]

    @cached_property
    def span_words(self) -> list[Word]:
        """The words that reach into the span."""
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
    def relevant(self) -> tuple[Text, ...]:
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
