"""What the readings of adapters share: one answer being judged, sentence by sentence."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from groundwire.detection.evidence import Evidence
from groundwire.detection.example import Source
from groundwire.detection.values import Entailment, Reason
from groundwire.engine.scores import ClaimScores
from groundwire.evaluation.adapters.tables import Tables
from groundwire.text.segment import Segment


class AdapterReading:
    """One answer; what is judged is judged against all sources."""

    is_incremental = True

    def __init__(self, tables: Tables, sources: Sequence[Source]) -> None:
        self.evidence: Evidence = tables.index(sources)
        self.attended: set[int] = set()
        self.reasons: Counter[Reason] = Counter(self.evidence.reasons)
        self._tables = tables

    def prefetch(self) -> None:
        """Nothing can be read before the answer is there."""

    def close(self) -> None:
        """Nothing to stop."""

    def _judged(
        self,
        answer: str,
        segment: Segment,
        places: Sequence[tuple[int, int]],
        labels: Sequence[tuple[float, float, float]],
        entailment: Entailment | None = None,
    ) -> ClaimScores:
        """Scores of a claim, given for places in the answer: supported, unsupported, contradicted.

        A place is what a detector says something about, such as a whole sentence.
        """
        self.attended.update(range(len(self.evidence.passages)))
        return ClaimScores(
            offsets=np.array(places, np.int32).reshape(-1, 2),
            labels=np.array(labels, np.float32).reshape(-1, 3),
            evidence=self._tables.references(self.evidence, answer[segment.start : segment.end]),
            entailment=entailment,
        )
