"""Instructions for workers: the detector to load, and the one that it must turn out to be."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from groundwire import __version__
from groundwire.detection.values import DetectorInfo
from groundwire.errors import GroundwireError
from groundwire.evaluation.loading import AnyDetector, DetectorChoice

#: Rows of a block: fewer than without workers, so that all workers finish at about the same time.
BATCH_ROWS = 64


class WorkerError(GroundwireError):
    """A worker ended, or differs from the others; results so far are kept."""

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
        load: Loads it; it must be one that can be pickled.
        choice: The detector that was chosen.
        info: The detector that it must turn out to be: results of two do not mix.
        version: The version of Groundwire, which must be the same for the same reason.
    """

    load: Callable[[DetectorChoice], AnyDetector]
    choice: DetectorChoice
    info: DetectorInfo
    version: str = __version__

    def detector(self) -> AnyDetector:
        """Load the detector with one thread, unless the user named a number.

        Raises:
            WorkerError: If it is another one than the results are of.
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
