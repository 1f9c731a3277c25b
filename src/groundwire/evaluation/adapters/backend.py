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
        tables: Finds the evidence to show beside verdicts.
        name: Name of the detector as users write it, such as ``nli:MODEL``.
        revision: Revision of the detector's model, rule or prompt.
        operating_points: Name → threshold.
    """

    score: ClassVar[Score] = Score.PROBABILITY
    #: Whether claims are judged while the answer is still being written.
    is_incremental: ClassVar[bool] = True
    #: No calibration: these detectors give no calibrated probability of a whole answer.
    answers: ClassVar[None] = None

    tables: Tables = field(default_factory=Tables.load)
    name: str
    revision: str
    operating_points: Mapping[str, float] = field(default_factory=lambda: {"balanced": 0.5})

    @property
    def work(self) -> dict[str, int]:
        """Counts of work done: empty, because these backends keep none."""
        return {}

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> "AdapterReading":
        """Begin to judge an answer."""
        del threshold, tenant
        return AdapterReading(self, sources, question)

    def read(
        self, reading: "AdapterReading", answer: str, segments: Sequence[Segment]
    ) -> list[ClaimScores]:
        """Judge the next claims of an answer."""
        return [self.judge(reading, answer, segment) for segment in segments]

    def judge(self, reading: "AdapterReading", answer: str, segment: Segment) -> ClaimScores:
        """Judge one claim of an answer."""
        raise NotImplementedError


class AdapterReading:
    """The judging of one answer, in which each claim is compared with all sources.

    Attributes:
        sources: The sources.
        question: The question, which is not evidence.
        is_incremental: Whether claims are judged while the answer is still being written.
        evidence: The indexed sources.
        attended: Indices of the passages of evidence that were read.
        reasons: Reason why parts of the evidence could not be read → number of such parts.
    """

    def __init__(
        self, backend: AdapterBackend, sources: Sequence[Source], question: str | None
    ) -> None:
        self.sources, self.question = sources, question
        self.is_incremental = backend.is_incremental
        self.evidence: Evidence = backend.tables.index(sources)
        self.attended: set[int] = set()
        self.reasons: Counter[Reason] = Counter(self.evidence.reasons)
        self._backend = backend

    def prefetch(self) -> None:
        """Do nothing: these detectors read no source in advance."""

    def close(self) -> None:
        """Do nothing: there are no threads or connections of this answer to close."""

    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
        """Judge the next claims of the answer."""
        return self._backend.read(self, answer, segments)

    def references(self, answer: str, segment: Segment) -> tuple[EvidenceRef, ...]:
        """Find the lines of the sources to show beside a claim, and note all passages as read."""
        self.attended.update(range(len(self.evidence.passages)))
        claim = answer[segment.start : segment.end]
        return self._backend.tables.references(self.evidence, claim)

    def scores(
        self,
        answer: str,
        segment: Segment,
        labels: tuple[float, float, float],
        *,
        place: tuple[int, int] | None = None,
        entailment: Entailment | None = None,
    ) -> ClaimScores:
        """Make the scores of a claim.

        Args:
            answer: The answer.
            segment: The place of the claim in the answer.
            labels: P(supported), P(unsupported) and P(contradicted).
            place: The range of the answer that the labels are about; by default the claim.
            entailment: The detector's probabilities of entailment of the claim, if it gives any.
        """
        return ClaimScores(
            offsets=np.array([place or (segment.start, segment.end)], np.int32),
            labels=np.array([labels], np.float32),
            evidence=self.references(answer, segment),
            entailment=entailment,
        )
