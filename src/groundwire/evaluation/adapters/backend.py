"""Base classes for scoring backends that wrap detectors of other projects."""

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
    """Finds the evidence to show beside a verdict, with tables of the embedded reader.

    Attributes:
        pieces: Splits texts into word pieces.
        words: Weights of the word pieces, for ranking evidence.
    """

    pieces: WordPieces
    words: WordWeights

    @classmethod
    def load(cls) -> Self:
        """Read the tables from the folder of the default model."""
        folder = find_model(DEFAULT_MODEL).folder
        return cls(WordPieces(folder / "tokenizer.json"), WordWeights.load(folder))

    def index(self, sources: Sequence[Source]) -> Evidence:
        """Index the sources of an answer, in any script."""
        return Evidence.of(sources, partial(cut_source, pieces=self.pieces, reads=bool), self.words)

    def references(self, evidence: Evidence, claim: str) -> tuple[EvidenceRef, ...]:
        """Find the lines of the evidence that are most relevant to a claim."""
        query = Query.of(self.pieces.encode(claim).ids)
        return evidence.references(query, evidence.select(query).first)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, weakref_slot=True)
class AdapterBackend:
    """Base class of the scoring backends of other projects' detectors.

    Attributes:
        tables: Finds the evidence to show.
        name: Name of the detector as users write it, such as ``nli:MODEL``.
        revision: Revision of the detector's model, rule or prompt.
        operating_points: Name → threshold.
    """

    score: ClassVar[Score] = Score.PROBABILITY
    #: No calibration: these detectors give no calibrated probability of a whole answer.
    answers: ClassVar[None] = None

    tables: Tables = field(default_factory=Tables.load)
    name: str
    revision: str
    operating_points: Mapping[str, float] = field(default_factory=lambda: {"balanced": 0.5})

    @property
    def work(self) -> dict[str, int]:
        """Counts of work done, which these backends do not keep: an empty dictionary."""
        return {}


class AdapterReading:
    """Base class for the judging of one answer, in which each claim is compared with all sources.

    Attributes:
        is_incremental: Whether claims are judged while the answer is still being written.
        evidence: The indexed sources.
        attended: Indices of the passages of evidence that were read.
        reasons: Reason why parts of the evidence could not be read → number of such parts.
    """

    is_incremental = True

    def __init__(self, tables: Tables, sources: Sequence[Source]) -> None:
        self.evidence: Evidence = tables.index(sources)
        self.attended: set[int] = set()
        self.reasons: Counter[Reason] = Counter(self.evidence.reasons)
        self._tables = tables

    def prefetch(self) -> None:
        """Do nothing: these detectors read no source in advance."""

    def close(self) -> None:
        """Do nothing: there are no threads or connections of this answer to close."""

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
            segment: The place of the claim in the answer.
            places: Ranges of the answer that the detector judged.
            labels: P(supported), P(unsupported) and P(contradicted) of each range.
            entailment: The detector's probabilities of entailment of the claim, if it gives any.
        """
        self.attended.update(range(len(self.evidence.passages)))
        return ClaimScores(
            offsets=np.array(places, np.int32).reshape(-1, 2),
            labels=np.array(labels, np.float32).reshape(-1, 3),
            evidence=self._tables.references(self.evidence, answer[segment.start : segment.end]),
            entailment=entailment,
        )
