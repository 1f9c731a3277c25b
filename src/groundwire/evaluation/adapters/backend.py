"""Base classes of the detectors of other projects."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Self

import numpy as np

from groundwire.detection.evidence import Evidence, Query, WordWeights
from groundwire.detection.example import Source
from groundwire.detection.passages import cut_source
from groundwire.detection.values import Entailment, EvidenceRef, Reason, Score
from groundwire.engine.models import DEFAULT_MODEL, find_model
from groundwire.engine.scores import ClaimScores
from groundwire.engine.tokenizer import WordPieces
from groundwire.text.segment import Segment


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Tables of the embedded reader that find the evidence to show beside a verdict."""

    pieces: WordPieces
    words: WordWeights

    @classmethod
    def load(cls) -> Self:
        """Read the tables."""
        folder = find_model(DEFAULT_MODEL).folder
        return cls(WordPieces(folder / "tokenizer.json"), WordWeights.load(folder))

    def index(self, sources: Sequence[Source]) -> Evidence:
        """Index sources, whatever script they are in."""
        return Evidence.of(sources, partial(cut_source, pieces=self.pieces, reads=bool), self.words)

    def references(self, evidence: Evidence, claim: str) -> tuple[EvidenceRef, ...]:
        """Find the lines that say most about a claim."""
        query = Query.of(self.pieces.encode(claim).ids)
        return evidence.references(query, evidence.select(query).first)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, weakref_slot=True)
class AdapterBackend:
    """Base of the backends.

    Attributes:
        tables: Find the evidence to show.
        name: As users write it, such as ``nli:MODEL``.
        revision: The revision of its model or rule.
        operating_points: Name → threshold.
    """

    score: ClassVar[Score] = Score.PROBABILITY
    #: Probabilities of answers are not calibrated.
    answers: ClassVar[None] = None

    tables: Tables = field(default_factory=Tables.load)
    name: str
    revision: str
    operating_points: Mapping[str, float] = field(default_factory=lambda: {"balanced": 0.5})

    @property
    def work(self) -> dict[str, int]:
        """Counters of work; there are none."""
        return {}


class AdapterReading:
    """One answer being judged, claim by claim, each against all sources."""

    is_incremental = True

    def __init__(self, tables: Tables, sources: Sequence[Source]) -> None:
        self.evidence: Evidence = tables.index(sources)
        self.attended: set[int] = set()
        self.reasons: Counter[Reason] = Counter(self.evidence.reasons)
        self._tables = tables

    def prefetch(self) -> None:
        """Do nothing: there is nothing to read before the answer is complete."""

    def close(self) -> None:
        """Do nothing: there is nothing to stop."""

    def _judged(
        self,
        answer: str,
        segment: Segment,
        places: Sequence[tuple[int, int]],
        labels: Sequence[tuple[float, float, float]],
        entailment: Entailment | None = None,
    ) -> ClaimScores:
        """Make the scores of a claim.

        Args:
            answer: The answer.
            segment: The claim in it.
            places: Ranges of the answer that the detector says something about.
            labels: P(supported), P(unsupported) and P(contradicted) of each place.
            entailment: Probabilities of the claim, if the detector gives them.
        """
        self.attended.update(range(len(self.evidence.passages)))
        return ClaimScores(
            offsets=np.array(places, np.int32).reshape(-1, 2),
            labels=np.array(labels, np.float32).reshape(-1, 3),
            evidence=self._tables.references(self.evidence, answer[segment.start : segment.end]),
            entailment=entailment,
        )
