"""Keeps an answer's scores, so that the model seldom has to run again for another threshold."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.detection.example import Example, Source
from groundwire.detection.passages import PASSAGE_PIECES
from groundwire.detection.values import Detection
from groundwire.detector import Detector, ScoringBackend
from groundwire.engine.scores import ClaimScores
from groundwire.stream import ScoringSession
from groundwire.text.segment import Segment

#: The lowest threshold for which kept scores can be used.
LOWEST_THRESHOLD = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """The scores of one claim, after one and after two readings of the evidence.

    If the first reading leaves doubt, a detector reads the claim again with other passages, if
    there are any.

    Attributes:
        first: Scores after the first reading.
        both: Scores after the second reading, or after the first if the claim was read only once.
        attended: Indexes of the passages with which the claim was read; empty if there is only one
            passage.
    """

    first: ClaimScores
    both: ClaimScores
    attended: frozenset[int]

    def is_doubted(self, threshold: float) -> bool:
        """Return whether the first reading leaves doubt at this threshold."""
        labels = self.first.labels
        return len(labels) > 0 and bool(1 - labels[:, 0].min() >= threshold)


class KeptScores:
    """A scoring backend for one example, which keeps scores for further thresholds.

    The threshold decides which claims are read a second time, so scores with and without a second
    reading are kept.

    Attributes:
        first: The scoring session that reads the evidence of each claim only once.
    """

    def __init__(self, judge: ScoringBackend, example: Example) -> None:
        self.name, self.revision, self.score = judge.name, judge.revision, judge.score
        self.operating_points, self.answers = judge.operating_points, judge.answers
        self._judge, self._example = judge, example
        self.first = self._open(1.0)
        self._both = self._open(LOWEST_THRESHOLD)
        self._claims: dict[int, _Kept] = {}
        self._is_whole = True

    def _open(self, threshold: float) -> ScoringSession:
        sources, question = self._example.sources, self._example.question
        return self._judge.open(sources, question, threshold=threshold, tenant="")

    @property
    def work(self) -> dict[str, int]:
        """Counters of what the model has read so far, by name."""
        return self._judge.work

    def detect(self, operating_point: str | float) -> Detection:
        """Check the example at an operating point, as the detector would.

        Raises:
            SettingError: If the operating point is not valid.
        """
        example, was_whole = self._example, self._is_whole
        with Detector(self, threads=1) as detector:
            found = detector.detect(
                sources=example.sources,
                question=example.question,
                answer=example.answer,
                operating_point=operating_point,
            )
        # Only reading a claim shows whether it is too long to be judged as a whole. Scores of its
        # parts cannot be kept, so the check is then repeated without kept scores.
        return found if was_whole == self._is_whole else self.detect(operating_point)

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> ScoringSession:
        """Open a session over the kept scores, or over the model if they cannot be used."""
        del sources, question, tenant
        # If a claim is judged in parts, each part may be read a second time by itself. The kept
        # scores are of the whole claim, so they do not show which parts are read again.
        is_kept = self._is_whole and threshold >= LOWEST_THRESHOLD
        return _KeptSession(self, threshold) if is_kept else self._open(threshold)

    def read(self, answer: str, segments: Sequence[Segment]) -> list[_Kept]:
        """Return the kept scores of claims; for new claims, let the model compute them first."""
        new = [segment for segment in segments if segment.start not in self._claims]
        for segment, first in zip(new, self.first.read(answer, new) if new else (), strict=True):
            both = first
            self._both.attended = set()
            if len(self.first.evidence.passages) > 1:
                (both,) = self._both.read(answer, [segment])
            self._claims[segment.start] = _Kept(first, both, frozenset(self._both.attended))
            self._is_whole &= len(first.offsets) <= PASSAGE_PIECES
        return [self._claims[segment.start] for segment in segments]


class _KeptSession:
    """A scoring session that returns kept scores for one threshold."""

    is_incremental = True

    def __init__(self, kept: KeptScores, threshold: float) -> None:
        self.evidence, self.attended = kept.first.evidence, set[int]()
        self.reasons = Counter(kept.first.reasons)
        self._kept, self._threshold = kept, threshold

    def prefetch(self) -> None:
        """Do nothing: nothing is read ahead for a complete answer."""

    def close(self) -> None:
        """Do nothing: this session has no work in progress to stop."""

    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
        """Return the scores that a detector with this threshold would give to claims."""
        found = []
        for kept in self._kept.read(answer, segments):
            is_doubted = kept.is_doubted(self._threshold)
            found.append(kept.both if is_doubted else kept.first)
            self.attended |= kept.attended if is_doubted else set()
        self.attended |= self._kept.first.attended
        return found
