"""A detector that reads the answer as a whole: a published checkpoint behind the same interface."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from groundwire.detection.evidence import Evidence, Query, WordWeights
from groundwire.detection.example import Source
from groundwire.detection.passages import cut_source
from groundwire.detection.values import Reason, Score
from groundwire.engine.checkpoints import load_checkpoint
from groundwire.engine.models import DEFAULT_MODEL, DETECTORS, find_model
from groundwire.engine.scores import ClaimScores, TokenScores
from groundwire.engine.tokenizer import WordPieces
from groundwire.engine.windowing import JointModel
from groundwire.errors import DetectionError, UnknownModelError
from groundwire.text.segment import Segment


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """A checkpoint, with the tables that find the evidence to show beside its verdicts."""

    name: str
    revision: str
    operating_points: Mapping[str, float]
    score: Score = field(default=Score.PROBABILITY, init=False)
    answers: None = field(default=None, init=False)  # what a checkpoint says is not calibrated
    model: JointModel
    pieces: WordPieces
    words: WordWeights

    @classmethod
    def load(
        cls, model: str, *, revision: str | None, device: str, threads: int, max_length: int | None
    ) -> "Whole":
        """Load a checkpoint; arguments and errors are those of ``Detector.load``."""
        if not model.strip() or ("/" not in model and not Path(model).exists()):
            raise UnknownModelError(model, DETECTORS)
        joint = load_checkpoint(
            model, revision=revision, device=device, threads=threads, max_length=max_length
        )
        tables = find_model(DEFAULT_MODEL).folder
        return cls(
            name=model,
            revision=joint.revision,
            operating_points={"balanced": 0.5},
            model=joint,
            pieces=WordPieces(tables / "tokenizer.json"),
            words=WordWeights.load(tables),
        )

    @property
    def work(self) -> dict[str, int]:
        """Nothing is counted: an answer is one pass over all of its windows."""
        return {}

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> "WholeReading":
        """Index the sources of a request; ``threshold`` and ``tenant`` change nothing here."""
        # Which scripts a checkpoint reads is its own matter; here lines are only quoted.
        cut = partial(cut_source, pieces=self.pieces, reads=bool)
        return WholeReading(self, sources, Evidence.of(sources, cut, self.words), question)


class WholeReading:
    """One answer, judged when it is complete: each verdict may rest on all of its words."""

    is_incremental = False

    def __init__(
        self, judge: Whole, sources: Sequence[Source], evidence: Evidence, question: str | None
    ) -> None:
        self.evidence = evidence
        self.attended: set[int] = set()
        self.reasons: Counter[Reason] = Counter()
        self._judge, self._question = judge, question
        self._context = self.join(sources)

    @staticmethod
    def join(sources: Sequence[Source]) -> str:
        """One context: equal sources once, in the order of their text, for order says nothing."""
        texts = {"\n".join(filter(None, (source.title, source.text))) for source in sources}
        return "\n\n".join(sorted(texts))

    def prefetch(self) -> None:
        """Nothing can be read before the answer is there."""

    def close(self) -> None:
        """Nothing to stop."""

    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
        """Judge all claims of a complete answer."""
        try:
            scores = self._judge.model.read(self._context, self._question, answer)
        except DetectionError:
            return [ClaimScores.unread(Reason.DETECTOR_FAILED) for _ in segments]
        if scores.question_shortened:
            self.reasons[Reason.QUESTION_SHORTENED] = 1
        self.attended.update(range(len(self.evidence.passages)))
        return [self._claim(answer, segment, scores) for segment in segments]

    def _claim(self, answer: str, segment: Segment, scores: TokenScores) -> ClaimScores:
        starts, ends = scores.offsets[:, 0], scores.offsets[:, 1]
        inside = (starts < segment.end) & (ends > segment.start)
        doubt = scores.probabilities[inside]
        if not len(doubt) or not np.isfinite(doubt).all():
            return ClaimScores.unread(Reason.DETECTOR_FAILED)
        offsets = np.clip(scores.offsets[inside], segment.start, segment.end)
        query = Query.of(self._judge.pieces.encode(answer[segment.start : segment.end]).ids)
        return ClaimScores(
            offsets=offsets,
            labels=np.column_stack([1 - doubt, doubt, np.zeros_like(doubt)]),
            evidence=self.evidence.references(query, self.evidence.select(query).first),
        )
