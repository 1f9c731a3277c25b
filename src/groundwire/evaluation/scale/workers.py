"""Instructions for workers: which detector to load, and how to verify that it is the right one."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from groundwire import __version__
from groundwire.detection.values import DetectorInfo
from groundwire.errors import GroundwireError
from groundwire.evaluation.loading import AnyDetector, DetectorChoice

#: Number of rows in a block: fewer than without workers, so that all workers finish at about the
#: same time.
BATCH_ROWS = 64


class WorkerError(GroundwireError):
    """A worker died, or its detector or version is not that of the results; results are kept."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return (
            f"{self.problem} What was judged is kept: the same command with --resume judges the "
            "rest."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Instructions to load the detector in a worker.

    Attributes:
        load: Function that loads a detector; it must be possible to pickle it.
        choice: Options of the detector.
        info: Name, revision and threshold that the loaded detector must have: one results file
            must not mix two detectors.
        version: The version of Groundwire that a worker must have: one results file must not mix
            two versions either.
    """

    load: Callable[[DetectorChoice], AnyDetector]
    choice: DetectorChoice
    info: DetectorInfo
    version: str = __version__

    def detector(self) -> AnyDetector:
        """Load the detector, with one thread unless the user chose a number of threads.

        Raises:
            WorkerError: If the detector, or the version of Groundwire, is not that of the results.
        """
        if self.version != __version__:
            raise WorkerError(
                f"A worker has Groundwire {__version__}, and the results are of {self.version}."
            )
        threads = 1 if self.choice.threads is None else self.choice.threads
        detector = self.load(replace(self.choice, threads=threads))
        if detector.info != self.info:
            raise WorkerError(
                f"A worker loaded {detector.info.name} {detector.info.revision[:12]}, and the "
                f"results are of {self.info.name} {self.info.revision[:12]}."
            )
        return detector
