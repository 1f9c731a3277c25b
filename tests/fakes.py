"""Fake detectors and models that tests share."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from groundwire.detection.example import Example, SourceLike
from groundwire.detection.values import (
    SEVERITY,
    Claim,
    Coverage,
    Detection,
    DetectorInfo,
    EvidenceRef,
    Label,
    Reason,
    Span,
    decide_outcome,
)
from groundwire.engine.scores import TokenScores
from groundwire.errors import DetectionError, GroundwireError

FIXED = DetectorInfo(name="fixed", revision="0" * 40, operating_point="balanced", threshold=0.5)


@dataclass(frozen=True, kw_only=True)
class FixedDetector:
    """A detector that flags fixed words, and takes the whole answer for one claim.

    Attributes:
        unsupported: Words to flag as unsupported, wherever they stand in the answer.
        contradicted: Words to flag as contradicted.
        fails_on: The check of an answer with this text fails; empty: no check does.
        reasons: The reasons in the coverage of each detection.
        info: The name and the settings that each detection has.
    """

    unsupported: Sequence[str] = ()
    contradicted: Sequence[str] = ()
    fails_on: str = ""
    reasons: Mapping[Reason, int] = field(default_factory=dict)
    info: DetectorInfo = FIXED

    def detect(
        self,
        *,
        sources: Iterable[SourceLike],
        answer: str,
        question: str | None = None,
        operating_point: str | float | None = None,
    ) -> Detection:
        """Check one answer, as ``Detector.detect`` does."""
        del operating_point
        return self._judge(Example.of(sources=sources, answer=answer, question=question))

    def detect_batch(self, examples: Iterable[Example]) -> Iterator[Detection | GroundwireError]:
        """Check many examples in their order, as ``Detector.detect_batch`` does."""
        for example in examples:
            try:
                yield self._judge(example)
            except GroundwireError as error:
                yield error

    def _judge(self, example: Example) -> Detection:
        if self.fails_on and self.fails_on in example.answer:
            raise DetectionError(f"The detector failed on {self.fails_on!r}.")
        answer = example.answer
        start = len(answer) - len(answer.lstrip())
        text = answer.strip()
        evidence = tuple(
            EvidenceRef(source_id=source.id, start=0, end=len(source.text), text=source.text)
            for source in example.sources
        )
        spans = tuple(
            sorted(
                (
                    self._span(match, label, evidence)
                    for label, words in self._words().items()
                    for word in words
                    for match in re.finditer(re.escape(word), answer)
                ),
                key=lambda span: span.start,
            )
        )
        labels = {span.label for span in spans}
        claim = Claim(
            start=start,
            end=start + len(text),
            text=text,
            label=max(labels, key=lambda label: SEVERITY[label], default=Label.SUPPORTED)
            if evidence
            else Label.UNCHECKED,
            probability=(0.97 if spans else 0.02) if evidence else None,
            spans=spans if evidence else (),
            evidence=evidence,
            reason=None if evidence else Reason.NO_EVIDENCE,
        )
        n_chars = sum(len(source.text) for source in example.sources)
        coverage = Coverage(
            offered_chars=n_chars,
            indexed_chars=n_chars,
            attended_chars=n_chars,
            answer_chars=len(text),
            read_chars=len(text) if evidence else 0,
            reasons=self.reasons if evidence else {Reason.NO_EVIDENCE: 1},
        )
        return Detection(
            answer=answer,
            outcome=decide_outcome((claim,), coverage),
            claims=(claim,),
            coverage=coverage,
            detector=self.info,
            timings_ms={"total": 1.5},
        )

    def _words(self) -> dict[Label, Sequence[str]]:
        return {Label.UNSUPPORTED: self.unsupported, Label.CONTRADICTED: self.contradicted}

    @staticmethod
    def _span(match: re.Match[str], label: Label, evidence: tuple[EvidenceRef, ...]) -> Span:
        return Span(
            start=match.start(),
            end=match.end(),
            text=match.group(),
            label=label,
            probability=0.97,
            severity=SEVERITY[label],
            evidence=evidence,
        )


@dataclass(kw_only=True)
class FixedScores:
    """A model with fixed scores for words. A token is a word with the spaces before it.

    Attributes:
        doubtful: P(not supported) of words, wherever they stand; other words have 0.1.
        asked: The context, question and answer of each call.
    """

    doubtful: Mapping[str, float]
    asked: list[tuple[str, str | None, str]] = field(default_factory=list)

    def read(self, context: str, question: str | None, answer: str) -> TokenScores:
        """Return the score of each word of an answer, and note the call."""
        self.asked.append((context, question, answer))
        words = list(re.finditer(r"\s*(\w+|[^\w\s])", answer))
        return TokenScores(
            np.array([word.span() for word in words], np.int32).reshape(-1, 2),
            np.array([self.doubtful.get(word.group(1), 0.1) for word in words], np.float32),
        )
