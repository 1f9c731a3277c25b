"""N-gram overlap as a detector: the share of a sentence's word pairs that occur in the sources.

The oldest baseline (ROUGE, https://aclanthology.org/W04-1013). It compares words without regard to
their meaning, so any other detector should be better.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import ClassVar

from groundwire.detection.values import Reason, Score
from groundwire.engine.scores import ClaimScores
from groundwire.engine.sentence import without_citations
from groundwire.evaluation.adapters.backend import AdapterBackend, AdapterReading
from groundwire.text.emphasis import without_emphasis
from groundwire.text.segment import Segment

#: Number of words in an n-gram.
N = 2
#: A claim is flagged if the share of its n-grams that occur in the sources is below this. The value
#: is a guess.
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


def overlap(claim: str, sources: Iterable[str]) -> float | None:
    """Compute the share of a claim's n-grams that occur in a source; ``None`` without words.

    >>> overlap("Paris is very large.", ["Today Paris is large.", "It is very large."])
    1.0
    >>> overlap("Paris is small.", ["Paris is large."])
    0.5
    """
    wanted = grams(claim)
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

    def judge(self, reading: AdapterReading, answer: str, segment: Segment) -> ClaimScores:
        """Compare one claim with the sources; the question is ignored, as it is not evidence."""
        texts = (source.text for source in reading.sources)
        share = overlap(without_emphasis(without_citations(answer, segment)), texts)
        if share is None:
            return ClaimScores.unread(Reason.LANGUAGE)
        return ClaimScores.compared(round(share, 6), reading.references(answer, segment), 0)
