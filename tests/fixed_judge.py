"""A fake judge with fixed scores, for tests of the code around the model."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from groundwire.detection.evidence import Evidence, WordWeights
from groundwire.detection.example import Source
from groundwire.detection.passages import CutSource, cut_source
from groundwire.detection.rules import Conflict
from groundwire.detection.values import Reason, Score
from groundwire.engine import models
from groundwire.engine.scores import AnswerCalibration, ClaimScores
from groundwire.engine.tokenizer import WordPieces
from groundwire.text.segment import Segment


@cache
def _tables() -> tuple[Callable[[Source], CutSource], WordWeights]:
    """Load the reader's function that cuts sources, and its word weights; no model is needed."""
    folder = Path(models.__file__).parent / "reader"
    pieces = WordPieces(folder / "tokenizer.json")
    return partial(cut_source, pieces=pieces), WordWeights.load(folder)


@dataclass(frozen=True, kw_only=True)
class FixedJudge:
    """A judge that scores the words of a claim by a fixed table.

    Attributes:
        doubtful: P(not supported) of words; other words have 0.1.
        cannot_read: A claim that contains this word is unread, with the reason ``language``.
        conflicts: The conflict that a rule finds at a word. Its offsets are replaced by those of
            the word.
        settled: Words that plainly follow from any evidence.
        remarks: Claims in which the judge finds no claim when it reads them without evidence.
    """

    doubtful: Mapping[str, float]
    cannot_read: str = "\0"
    conflicts: Mapping[str, Conflict] = field(default_factory=dict)
    settled: Collection[str] = ()
    remarks: Collection[str] = ()
    name: str = "fixed"
    revision: str = "0" * 40
    score: Score = Score.PROBABILITY
    answers: AnswerCalibration | None = None
    operating_points: Mapping[str, float] = field(default_factory=lambda: {"balanced": 0.5})
    work: dict[str, int] = field(default_factory=dict)

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> "FixedReading":
        """Index the sources, and begin the check of an answer."""
        del question, threshold, tenant
        return FixedReading(self, Evidence.of(sources, *_tables()))


@dataclass(frozen=True, kw_only=True)
class RecordingJudge(FixedJudge):
    """A judge with fixed scores that records its calls.

    Attributes:
        opened: The texts of the sources of each call of :meth:`open`.
        claims: The texts of all claims that were read.
        n_together: How many claims each call of ``read`` had.
        fails: Whether reading any claim raises an error.
    """

    opened: list[list[str]] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)
    n_together: list[int] = field(default_factory=list)
    fails: bool = False

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> "FixedReading":
        """Record the texts of the sources, and begin the check of an answer."""
        self.opened.append([source.text for source in sources])
        reading = super().open(sources, question, threshold=threshold, tenant=tenant)
        return _RecordingReading(self, reading.evidence)


class FixedReading:
    """The check of one answer by a :class:`FixedJudge`."""

    is_incremental = True

    def __init__(self, judge: FixedJudge, evidence: Evidence) -> None:
        self.evidence = evidence
        self.attended: set[int] = set()
        self.reasons: Counter[Reason] = Counter(evidence.reasons)
        self._judge = judge

    def prefetch(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def close(self) -> None:
        """Do nothing: nothing runs that could be stopped."""

    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
        """Return the fixed scores of claims."""
        return [self._claim(answer, segment) for segment in segments]

    def _claim(self, answer: str, segment: Segment) -> ClaimScores:
        if self._judge.cannot_read in answer[segment.start : segment.end]:
            return ClaimScores.unread(Reason.LANGUAGE)
        words = list(re.compile(r"\w+|[^\w\s]").finditer(answer, segment.start, segment.end))
        doubt = np.array([self._judge.doubtful.get(w.group(), 0.1) for w in words], np.float32)
        return ClaimScores(
            offsets=np.array([word.span() for word in words], np.int32).reshape(-1, 2),
            labels=np.column_stack([1 - doubt, doubt, np.zeros_like(doubt)]),
            conflicts=tuple(
                replace(self._judge.conflicts[word.group()], start=word.start(), end=word.end())
                for word in words
                if word.group() in self._judge.conflicts
            ),
            settled=tuple(word.span() for word in words if word.group() in self._judge.settled),
            is_remark=lambda: answer[segment.start : segment.end] in self._judge.remarks,
        )


class _RecordingReading(FixedReading):
    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
        """Record the claims, and return their fixed scores, or fail."""
        assert isinstance(self._judge, RecordingJudge)
        self._judge.n_together.append(len(segments))
        self._judge.claims.extend(answer[each.start : each.end] for each in segments)
        if self._judge.fails:
            raise RuntimeError(answer)  # the message has the answer, which no log may show
        return super().read(answer, segments)
