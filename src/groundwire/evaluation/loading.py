"""The interface of a detector for commands, and a function that judges answers with it."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from groundwire.detection.example import Example, SourceLike
from groundwire.detection.values import Detection, DetectorInfo
from groundwire.errors import DetectionError, GroundwireError, InputError


class AnyDetector(Protocol):
    """The methods of a detector that the commands use."""

    @property
    def info(self) -> DetectorInfo:
        """Name, revision and threshold of the detector."""
        ...

    def detect(
        self, *, sources: Iterable[SourceLike], answer: str, question: str | None = None
    ) -> Detection:
        """Check one answer."""
        ...

    def detect_batch(self, examples: Iterable[Example]) -> Iterator[Detection | GroundwireError]:
        """Check answers in order; yield each detection, or the error if the check fails."""
        ...


def judge_all(
    detector: AnyDetector, examples: Sequence[Example]
) -> Iterator[Detection | GroundwireError]:
    """Yield the detection of each example, in order, or an error if its check fails."""
    n_done = 0
    while n_done < len(examples):
        try:
            for verdict in detector.detect_batch(examples[n_done:]):
                n_done += 1
                yield verdict
        except Exception as error:  # noqa: BLE001  # one unexpected error must not end the run
            n_done += 1
            problem = f"The check failed with an unexpected error: {type(error).__name__}: {error}"
            yield DetectionError(problem)


class DifferentDetectorError(InputError):
    """The results to continue were made by another detector, or at another threshold."""

    def __init__(self, output: Path, before: DetectorInfo, now: DetectorInfo) -> None:
        super().__init__(
            f"{output} was made by {_describe(before)}, and the detector is now {_describe(now)}: "
            "one file would mix them. Continue with the options of the first run, name another "
            "--output, or start over with --force in place of --resume."
        )


def _describe(detector: DetectorInfo) -> str:
    return (
        f"{detector.name} {detector.revision[:12]}, {detector.operating_point} "
        f"(threshold {detector.threshold})"
    )
