"""The error that is raised if results to continue were made with another detector or threshold."""

from pathlib import Path

from groundwire.detection.values import DetectorInfo
from groundwire.errors import InputError


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
