"""Options of detectors and explainers, and functions that load them, for the commands."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from groundwire.detection.example import Example, SourceLike
from groundwire.detection.values import Detection, DetectorInfo
from groundwire.errors import DetectionError, GroundwireError, InputError

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.explain import Explainer
    from groundwire.pipeline import Pipeline


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorChoice:
    """Options of the detector to load.

    Attributes:
        model: Name, hub id or folder of the model. ``None`` is the embedded reader; ``similarity``
            and ``similarity:hash`` compare texts.
        revision: Commit of a hub model.
        operating_point: The threshold, as a name such as ``balanced`` or as a number.
        threads: Number of CPU threads; ``None`` for the detector's default.
        device: ``cpu`` or ``cuda:N``, for checkpoints that are loaded.
        cache_mb: Size in megabytes of the cache of read sources; ``None`` for the default.
    """

    model: str | None = None
    revision: str | None = None
    operating_point: str | float = "balanced"
    threads: int | None = None
    device: str = "cpu"
    cache_mb: float | None = None


def load_detector(choice: DetectorChoice) -> AnyDetector:
    """Load the chosen detector."""
    # Imported here: it imports numpy and the inference library, which takes 200 ms that --help
    # should not wait for.
    from groundwire.detector import CACHE_MB, Detector

    return Detector.load(
        choice.model,
        revision=choice.revision,
        operating_point=choice.operating_point,
        threads=choice.threads,
        device=choice.device,
        cache_mb=CACHE_MB if choice.cache_mb is None else choice.cache_mb,
    )


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


def load_pipeline(config: "Config") -> "Pipeline":
    """Load the pipeline of stages that a configuration describes."""
    from groundwire.pipeline import Pipeline  # imported here, as in load_detector: it is slow

    return Pipeline.load(config)


def load_explainer(**options: Any) -> "Explainer":  # noqa: ANN401
    """Load the explainer; the options are the arguments of ``Explainer.load``."""
    from groundwire.explain import Explainer

    return Explainer.load(**options)


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
