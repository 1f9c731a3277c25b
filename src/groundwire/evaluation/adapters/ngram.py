"""N-gram overlap as a detector: the share of a sentence's word pairs that occur in the sources.

The oldest baseline (ROUGE, https://aclanthology.org/W04-1013). It compares words without regard to
their meaning, so any other detector should be better.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import ClassVar

from groundwire.detection.example import Source
from groundwire.detection.values import Reason, Score
from groundwire.engine.scores import ClaimScores
from groundwire.engine.sentence import without_citations
from groundwire.evaluation.adapters.backend import AdapterBackend, AdapterReading, Tables
from groundwire.text.emphasis import without_emphasis
from groundwire.text.segment import Segment

#: Number of words in an n-gram.
N = 2
#: A claim is flagged if a smaller share of its n-grams is in the sources. The value is a guess.
THRESHOLD = 0.5

_WORD = re.compile(r"\w+")


def grams(text: str, n: int = N) -> list[tuple[str, ...]]:
    """List the n-grams of a text in order; a text of fewer than ``n`` words is a single n-gram.

    >>> grams("Paris is large. Paris is")
    [('paris', 'is'), ('is', 'large'), ('large', 'paris'), ('paris', 'is')]
    >>> grams("Yes!")
    [('yes',)]
    """
    words = [word.casefold() for word in _WORD.findall(text)]
    if len(words) <= n:
        return [tuple(words)] if words else []
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def overlap(claim: str, sources: Iterable[str], n: int = N) -> float | None:
    """Compute the share of a claim's n-grams that occur in a source; ``None`` without words.

    >>> overlap("Paris is very large.", ["Today Paris is large.", "It is very large."])
    1.0
    >>> overlap("Paris is small.", ["Paris is large."])
    0.5
    """
    wanted = grams(claim, n)
    if not wanted:
        return None
    size = len(wanted[0])
    there = {gram for text in sources for gram in grams(text, size)}
    return sum(gram in there for gram in wanted) / len(wanted)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NgramJudge(AdapterBackend):
    """Backend that compares the word pairs of each claim with those of the sources."""

    score: ClassVar[Score] = Score.SIMILARITY

    name: str = "ngram"
    revision: str = sha256(f"words {_WORD.pattern} n {N}".encode()).hexdigest()[:12]
    operating_points: Mapping[str, float] = field(default_factory=lambda: {"balanced": THRESHOLD})

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> "NgramReading":
        """Begin to compare an answer; the question is ignored, because it is no evidence."""
        del question, threshold, tenant
        return NgramReading(self.tables, sources)


class NgramReading(AdapterReading):
    """The comparison of one answer with its sources, claim by claim."""

    def __init__(self, tables: Tables, sources: Sequence[Source]) -> None:
        super().__init__(tables, sources)
        self._texts = [source.text for source in sources]

    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
        """Compare the next claims of the answer with the sources."""
        return [self._claim(answer, segment) for segment in segments]

    def _claim(self, answer: str, segment: Segment) -> ClaimScores:
        share = overlap(without_emphasis(without_citations(answer, segment)), self._texts)
        if share is None:
            return ClaimScores.unread(Reason.LANGUAGE)
        self.attended.update(range(len(self.evidence.passages)))
        claim = answer[segment.start : segment.end]
        references = self._tables.references(self.evidence, claim)
        return ClaimScores.compared(round(share, 6), references, 0)
