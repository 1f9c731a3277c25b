"""Keeps the scores of an answer, so that another threshold needs no reading."""

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

#: The lowest threshold that scores are kept for.
LOWEST_THRESHOLD = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """Scores of a claim by its first look at the evidence, and by both of its looks.

    Attributes:
        first: Its scores after the first look.
        both: Its scores after a second look as well.
        attended: Passages that it was then read with.
    """

    first: ClaimScores
    both: ClaimScores
    attended: frozenset[int]

    def is_doubted(self, threshold: float) -> bool:
        """Whether a detector with this threshold takes a second look."""
        labels = self.first.labels
        return len(labels) > 0 and bool(1 - labels[:, 0].min() >= threshold)


class KeptScores:
    """A backend for one example: it reads at most once, and serves any threshold from then on.

    A threshold decides which claims get a second look at the evidence, so both readings are kept.

    Attributes:
        first: The session of the first looks.
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
        """Counts of texts and claims that were read so far."""
        return self._judge.work

    def detect(self, operating_point: str | float) -> Detection:
        """Check the example; the result is that of the detector at this operating point.

        Raises:
            SettingError: If there is no such operating point.
        """
        example, was_whole = self._example, self._is_whole
        with Detector(self, threads=1) as detector:
            found = detector.detect(
                sources=example.sources,
                question=example.question,
                answer=example.answer,
                operating_point=operating_point,
            )
        # Whether a claim has several parts shows when it has been read.
        return found if was_whole == self._is_whole else self.detect(operating_point)

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> ScoringSession:
        """Open a session over the kept scores."""
        del sources, question, tenant
        # A claim of several parts has one doubt for each, which its scores do not show.
        is_kept = self._is_whole and threshold >= LOWEST_THRESHOLD
        return _KeptSession(self, threshold) if is_kept else self._open(threshold)

    def read(self, answer: str, segments: Sequence[Segment]) -> list[_Kept]:
        """Give the scores of claims; those that are new are read."""
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
    """One answer being judged by its kept scores."""

    is_incremental = True

    def __init__(self, kept: KeptScores, threshold: float) -> None:
        self.evidence, self.attended = kept.first.evidence, set[int]()
        self.reasons = Counter(kept.first.reasons)
        self._kept, self._threshold = kept, threshold

    def prefetch(self) -> None:
        """Do nothing: an answer at rest needs no reading ahead."""

    def close(self) -> None:
        """Do nothing: nothing is read ahead."""

    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
        """Give the scores that a detector with this threshold would have."""
        found = []
        for kept in self._kept.read(answer, segments):
            is_doubted = kept.is_doubted(self._threshold)
            found.append(kept.both if is_doubted else kept.first)
            self.attended |= kept.attended if is_doubted else set()
        self.attended |= self._kept.first.attended
        return found
