"""Groundwire's own model, the embedded reader, for the interfaces of other detectors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from groundwire.detection.example import read_sources
from groundwire.detection.values import Reason
from groundwire.engine.scores import TokenScores
from groundwire.errors import DetectionError
from groundwire.text.segment import segment

if TYPE_CHECKING:
    from groundwire.detector import Detector

#: Model names for which the interfaces of other detectors load the embedded reader.
EMBEDDED = ("groundwire", "reader")


@runtime_checkable
class ReadsAnswers(Protocol):
    """A model that returns P(not supported) of the word pieces of an answer."""

    def read(self, context: str, question: str | None, answer: str) -> TokenScores:
        """Judge an answer against a context."""
        ...


class EmbeddedReader:
    """The embedded reader with the method ``read``, to be used in place of a loaded checkpoint.

    If a claim of the answer cannot be judged, an error is raised, because the results of other
    detectors have no place for claims that were not judged.
    """

    def __init__(self, detector: "Detector", *, threshold: float) -> None:
        """Use the model of a detector.

        Args:
            detector: A detector that uses the embedded reader.
            threshold: A claim is also read with further passages if the P(not supported) of a word
                piece in it is at least this number; in [0, 1].
        """
        self._judge, self._threshold = detector.backend, threshold

    def read(self, context: str, question: str | None, answer: str) -> TokenScores:
        """Judge an answer against one text of evidence; see :meth:`read_sources`."""
        return self.read_sources([context], question, answer)

    def read_sources(
        self, sources: Sequence[str], question: str | None, answer: str
    ) -> TokenScores:
        """Judge an answer against several texts of evidence.

        Raises:
            DetectionError: If the evidence has no text, or a claim of the answer could not be
                judged.
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
            if claim.reason is not None or claim.n_unread:
                raise DetectionError(
                    f"Characters {place.start} to {place.end} of the answer were not judged in full"
                    f" ({claim.reason or Reason.LANGUAGE}). Detector.detect() returns what could "
                    "be judged, with its coverage."
                )
        return TokenScores(
            np.concatenate([np.empty((0, 2), np.int32), *(claim.offsets for claim in claims)]),
            np.concatenate(
                [np.empty(0, np.float32), *(claim.with_rules().probabilities for claim in claims)]
            ),
        )
