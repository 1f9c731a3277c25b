"""Finds the evidence to compare a span with: lines that the detection names, and related lines.

A detection names the lines that have most in common with a claim. The words that correct a span may
be in another line, such as the ``"height"`` of a record whose ``"name"`` matches the claim.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.detection.example import Source
from groundwire.detection.values import Claim, EvidenceRef, Span
from groundwire.text.lines import lines_of
from groundwire.text.quantities import Quantity

#: Limit on the lines that a span is compared with, including the lines that the detection names.
MAX_LINES = 6
#: Limit on the characters of a source that is cut into lines. Of a longer source, only the lines
#: that the detection names are used.
MAX_SOURCE_CHARS = 20_000


class SourceLines:
    """The lines of sources; each source is cut once, when it is first needed."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._texts: Mapping[str, str] = {source.id: source.text for source in sources}
        self._cut: dict[str, tuple[ComparedText, ...]] = {}
        self._named: dict[EvidenceRef, ComparedText] = {}

    def held(self, span: Span, claim: Claim, text: ComparedText) -> Held:
        """Return a span together with its lines of evidence, at most :data:`MAX_LINES`, best first.

        First come the lines that the detection names and quotes correctly, then other lines of the
        same sources. The other lines are ranked by the number of content words that they share with
        the claim; a quantity of the same kind and unit as one in the span counts as two such words.
        Other lines without any such word or quantity are left out.

        ``claim`` is the claim that the span is in, and ``text`` its text.
        """
        refs = [ref for ref in span.evidence or claim.evidence if self._stands(ref)][:MAX_LINES]
        named = tuple(self._named.setdefault(ref, ComparedText(ref.text, ref)) for ref in refs)
        held = Held.within(span, text, claim.start, named)
        others = [
            line
            for source_id in dict.fromkeys(ref.source_id for ref in refs)
            for line in self._of(source_id)
            if not any(_overlap(line.place, ref) for ref in refs)
        ]
        wanted = {
            measure(quantity)
            for quantity in text.quantities
            if quantity.start < held.end and quantity.end > held.start
        }
        scored = [(_score(line, text, wanted), line) for line in others]
        ranked = sorted((each for each in scored if each[0]), key=lambda each: -each[0])
        nearby = tuple(line for _, line in ranked[: MAX_LINES - len(named)])
        return replace(held, lines=named + nearby)

    def _stands(self, ref: EvidenceRef) -> bool:
        """Return whether a reference is not blank and quotes its source correctly."""
        text = self._texts.get(ref.source_id, "")
        return bool(ref.text.strip()) and text[ref.start : ref.end] == ref.text

    def _of(self, source_id: str) -> tuple[ComparedText, ...]:
        if source_id not in self._cut:
            text = self._texts[source_id]
            lines = lines_of(text) if len(text) <= MAX_SOURCE_CHARS else []
            self._cut[source_id] = tuple(
                ComparedText(
                    words, EvidenceRef(source_id=source_id, start=start, end=end, text=words)
                )
                for start, end in ((line.start, line.end) for line in lines)
                if (words := text[start:end])
            )
        return self._cut[source_id]


def _score(line: ComparedText, claim: ComparedText, wanted: set[tuple[str, str | None]]) -> int:
    """Return how many content words a line shares with a claim.

    The number is 2 higher if the line has a quantity of a kind and unit in ``wanted``.
    """
    common = len(line.content & claim.content)
    has_kind = bool(wanted) and any(measure(quantity) in wanted for quantity in line.quantities)
    return common + 2 * has_kind


def measure(quantity: Quantity) -> tuple[str, str | None]:
    """Return the kind and the unit of a quantity."""
    return (str(quantity.kind), quantity.unit)


def _overlap(one: EvidenceRef | None, other: EvidenceRef) -> bool:
    if one is None:
        return False
    return one.source_id == other.source_id and one.start < other.end and other.start < one.end
