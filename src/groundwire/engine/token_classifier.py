"""The detector of loaded checkpoints: a token classifier that needs the complete answer."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Unpack

import numpy as np

from groundwire.detection.evidence import Evidence, Query, WordWeights
from groundwire.detection.example import Source
from groundwire.detection.passages import cut_source
from groundwire.detection.values import Reason, Score
from groundwire.engine.checkpoints import CheckpointOptions, load_checkpoint
from groundwire.engine.models import DEFAULT_MODEL, DETECTORS, find_model
from groundwire.engine.scores import ClaimScores, TokenScores
from groundwire.engine.tokenizer import WordPieces
from groundwire.engine.windowing import TokenClassifier
from groundwire.errors import DetectionError, UnknownModelError
from groundwire.text.segment import Segment


@dataclass(frozen=True, slots=True, eq=False)
class TokenClassifierBackend:
    """The backend of a loaded checkpoint, with word tables to find evidence that can be quoted."""

    name: str
    revision: str
    operating_points: Mapping[str, float]
    score: Score = field(default=Score.PROBABILITY, init=False)
    # There is no map to P(the answer is hallucinated): a checkpoint is not calibrated.
    answers: None = field(default=None, init=False)
    model: TokenClassifier
    pieces: WordPieces
    words: WordWeights

    @classmethod
    def load(cls, model: str, **options: Unpack[CheckpointOptions]) -> "TokenClassifierBackend":
        """Load a checkpoint; options and other errors are as in :func:`.load_checkpoint`.

        Raises:
            UnknownModelError: If ``model`` is blank, or is neither a folder nor a hub id.
        """
        if not model.strip() or ("/" not in model and not Path(model).exists()):
            raise UnknownModelError(model, DETECTORS)
        classifier = load_checkpoint(model, **options)
        tables = find_model(DEFAULT_MODEL).folder
        return cls(
            name=model,
            revision=classifier.revision,
            operating_points={"balanced": 0.5},
            model=classifier,
            pieces=WordPieces(tables / "tokenizer.json"),
            words=WordWeights.load(tables),
        )

    @property
    def work(self) -> dict[str, int]:
        """An empty mapping, because the calls of a checkpoint are not counted."""
        return {}

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> "TokenClassifierSession":
        """Index the sources of a request; ``threshold`` and ``tenant`` have no effect here."""
        # A checkpoint may read any script, so lines in any script may be quoted.
        cut = partial(cut_source, pieces=self.pieces, reads=bool)
        return TokenClassifierSession(
            self, sources, Evidence.of(sources, cut, self.words), question
        )


class TokenClassifierSession:
    """The check of one complete answer: each score may depend on all words of the answer."""

    is_incremental = False

    def __init__(
        self,
        backend: TokenClassifierBackend,
        sources: Sequence[Source],
        evidence: Evidence,
        question: str | None,
    ) -> None:
        self.evidence = evidence
        self.attended: set[int] = set()
        self.reasons: Counter[Reason] = Counter()
        self._backend, self._question = backend, question
        self._context = self.join(sources)

    @staticmethod
    def join(sources: Sequence[Source]) -> str:
        """Join titles and texts of sources to one context, sorted and without duplicate sources."""
        texts = {"\n".join(filter(None, (source.title, source.text))) for source in sources}
        return "\n\n".join(sorted(texts))

    def prefetch(self) -> None:
        """Do nothing: the model reads sources together with the answer."""

    def close(self) -> None:
        """Do nothing: no background work is running."""

    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
        """Score all claims of a complete answer."""
        try:
            scores = self._backend.model.read(self._context, self._question, answer)
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
        query = Query.of(self._backend.pieces.encode(answer[segment.start : segment.end]).ids)
        return ClaimScores(
            offsets=offsets,
            labels=np.column_stack([1 - doubt, doubt, np.zeros_like(doubt)]),
            evidence=self.evidence.references(query, self.evidence.select(query).first),
        )
