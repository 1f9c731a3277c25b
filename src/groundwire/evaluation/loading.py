"""The interface of detectors that evaluation and commands use."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from groundwire.detection.example import Example, SourceLike
from groundwire.detection.values import Detection, DetectorInfo
from groundwire.errors import GroundwireError, InputError


class AnyDetector(Protocol):
    """A detector, as evaluation and commands use it."""

    @property
    def info(self) -> DetectorInfo:
        """Description of the detector, such as its name, revision and threshold."""
        ...

    def detect(
        self, *, sources: Iterable[SourceLike], answer: str, question: str | None = None
    ) -> Detection:
        """Check one answer."""
        ...

    def detect_batch(self, examples: Iterable[Example]) -> Iterator[Detection | GroundwireError]:
        """Check answers in order; yield each detection, or the error if the check fails."""
        ...


class DifferentDetectorError(InputError):
    """The results to continue were made by another detector, or at another threshold."""

    def __init__(self, output: Path, before: DetectorInfo, now: DetectorInfo) -> None:
        from groundwire.render.descriptions import describe_detector  # slow: imports NumPy

        super().__init__(
            f"{output} was made by {describe_detector(before)}, and the detector is now "
            f"{describe_detector(now)}: "
            "one file would mix them. Continue with the options of the first run, name another "
            "--output, or start over with --force in place of --resume."
        )
