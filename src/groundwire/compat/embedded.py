"""The models of the compatible interfaces: a published checkpoint, or the embedded reader."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from groundwire.detection.example import read_sources
from groundwire.engine.scores import TokenScores
from groundwire.errors import DetectionError
from groundwire.text.segment import segment

if TYPE_CHECKING:
    from groundwire.detector import Detector

#: Names under which the compatible interfaces load the embedded reader.
EMBEDDED = ("groundwire", "reader")


@runtime_checkable
class ReadsAnswers(Protocol):
    """Anything that gives P(not supported) of each word piece of an answer."""

    def read(self, context: str, question: str | None, answer: str) -> TokenScores:
        """Judge all of an answer, or raise an error."""
        ...


class EmbeddedReader:
    """The embedded reader with the interface of a checkpoint.

    Unlike a detection, its scores are for all of the answer: a part that it cannot judge is an
    error, because the interfaces it serves have no word for "not checked".
    """

    def __init__(self, detector: "Detector", *, threshold: float) -> None:
        """Read with a detector's model.

        Args:
            detector: The detector with the model.
            threshold: Probability from which on a sentence gets a second look at other passages, in
                [0, 1].
        """
        self._judge, self._threshold = detector.judge, threshold

    def read(self, context: str, question: str | None, answer: str) -> TokenScores:
        """Judge an answer against one text."""
        return self.read_sources([context], question, answer)

    def read_sources(
        self, sources: Sequence[str], question: str | None, answer: str
    ) -> TokenScores:
        """Judge an answer against several texts.

        Raises:
            DetectionError: If there is nothing to judge it against, or some of it was not judged.
        """
        segments = segment(answer)
        reading = self._judge.open(
            read_sources(sources), question, threshold=self._threshold, tenant=""
        )
        try:
            if not reading.evidence.passages:
                raise DetectionError(
                    "The context has no text, so there is nothing to check the answer against. "
                    "Pass the passages that the model was given."
                )
            claims = reading.read(answer, segments) if segments else []
        finally:
            reading.close()
        for place, claim in zip(segments, claims, strict=True):
            if claim.reason is not None:
                raise DetectionError(
                    f"Characters {place.start} to {place.end} of the answer were not judged "
                    f"({claim.reason}). Detector.detect() returns what could be judged, with its "
                    "coverage."
                )
        return TokenScores(
            np.concatenate([np.empty((0, 2), np.int32), *(claim.offsets for claim in claims)]),
            np.concatenate(
                [np.empty(0, np.float32), *(claim.with_rules().probabilities for claim in claims)]
            ),
        )
