"""Choice and loading of detectors and explainers, for the commands."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from groundwire.detection.example import Example, Source, SourceLike
from groundwire.detection.values import Detection, DetectorInfo
from groundwire.errors import DetectionError, GroundwireError, InputError

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.explain import Explained
    from groundwire.pipeline import Pipeline


class AnyDetector(Protocol):
    """A detector, as far as the commands use it."""

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
        """Check many answers, in order; a failed check gives its error."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorChoice:
    """Options of the detector to load.

    Attributes:
        model: Name, hub id or folder; ``None`` is the embedded reader, ``similarity`` and
            ``similarity:hash`` compare; ``ngram``, ``nli:MODEL`` and
            ``judge:MODEL@URL`` are detectors of others.
        revision: Commit of a hub model.
        operating_point: Name or number of the threshold.
        threads: CPU threads; ``None`` leaves it to the detector.
        device: ``cpu`` or ``cuda:N``, for loaded checkpoints.
        cache_mb: Megabytes for sources that were read; ``None`` leaves it to the detector.
    """

    model: str | None = None
    revision: str | None = None
    operating_point: str | float = "balanced"
    threads: int | None = None
    device: str = "cpu"
    cache_mb: float | None = None


def load_detector(choice: DetectorChoice) -> AnyDetector:
    """Load a detector: one of ours, or one of another project."""
    # Numpy and the inference library come with it: 200 ms that --help does not need.
    from groundwire.detector import CACHE_MB, Detector
    from groundwire.evaluation.adapters.names import parse

    if choice.model is not None and parse(choice.model) is not None:
        from groundwire.evaluation.adapters.adapter import adapter

        return adapter(
            choice.model,
            revision=choice.revision,
            operating_point=choice.operating_point,
            threads=choice.threads,
            device=choice.device,
        )
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
    """Judge examples in order; a check that fails for any reason gives an error."""
    n_done = 0
    while n_done < len(examples):
        try:
            for verdict in detector.detect_batch(examples[n_done:]):
                n_done += 1
                yield verdict
        except Exception as error:  # noqa: BLE001  # even what nobody foresaw ends no run
            n_done += 1
            problem = f"The check failed with an unexpected error: {type(error).__name__}: {error}"
            yield DetectionError(problem)


def load_pipeline(config: "Config") -> "Pipeline":
    """Load the stages that a configuration names."""
    from groundwire.pipeline import Pipeline  # as heavy as a detector

    return Pipeline.load(config)


class AnyExplainer(Protocol):
    """An explainer, as far as the commands use it.

    Attributes:
        name: The name of the explainer.
        revision: The revision of its model; empty if it is not pinned.
    """

    name: str
    revision: str

    def explain(self, detection: Detection, sources: Sequence[Source]) -> "Explained":
        """Explain each span of a detection."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainerChoice:
    """Options of the explainer to load, as those of ``Explainer.load``."""

    model: str | None = None
    revision: str | None = None
    threshold: float = 0.9
    entailment_threshold: float = 0.75
    drops_entailed: bool = True
    device: str = "cpu"
    threads: int | None = None


def load_explainer(choice: ExplainerChoice) -> AnyExplainer:
    """Load an explainer."""
    from groundwire.explain import Explainer

    return Explainer.load(**asdict(choice))


class DifferentDetectorError(InputError):
    """The results to continue are of another detector, or of another threshold."""

    def __init__(self, output: Path, before: DetectorInfo, now: DetectorInfo) -> None:
        super().__init__(output, before, now)
        self.output, self.before, self.now = output, before, now

    def __str__(self) -> str:
        return (
            f"{self.output} was made by {_describe(self.before)}, and the detector is now "
            f"{_describe(self.now)}: one file would mix them. Continue with the options of the "
            "first run, name another --output, or start over with --force in place of --resume."
        )


def _describe(detector: DetectorInfo) -> str:
    return (
        f"{detector.name} {detector.revision[:12]}, {detector.operating_point} "
        f"(threshold {detector.threshold})"
    )
