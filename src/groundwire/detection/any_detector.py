"""Defines the interface through which commands, evaluation and repair use a detector."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from groundwire.detection.example import Example, SourceLike
from groundwire.detection.values import Detection, DetectorInfo
from groundwire.errors import GroundwireError


class AnyDetector(Protocol):
    """The interface of a detector, which checks answers against their sources."""

    @property
    def info(self) -> DetectorInfo:
        """Description of the detector, such as its name, revision and threshold."""
        ...

    def detect(
        self, *, sources: Iterable[SourceLike], answer: str, question: str | None = None
    ) -> Detection:
        """Check one answer against its sources."""
        ...

    def detect_batch(self, examples: Iterable[Example]) -> Iterator[Detection | GroundwireError]:
        """Check the answers of examples, in order; yield a detection or an error for each."""
        ...
