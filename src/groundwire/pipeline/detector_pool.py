"""The detectors of a pipeline: the configured one, and those that tenants have in its place."""

from collections.abc import Callable
from functools import partial

from groundwire.detection.values import Score
from groundwire.detector import Detector
from groundwire.engine.models import DETECTORS, ENCODER, find_model, find_reader
from groundwire.errors import ConfigError, UnknownModelError
from groundwire.pipeline.lazy import Lazy
from groundwire.policy.detector_selection import Chosen, Detectors
from groundwire.policy.policy import Overrides

#: Makes a detector beside the configured one, by its name.
Make = Callable[[str], Detector]


class Judges:
    """The configured detector, and embedded ones beside it, each loaded when it is first needed.

    They share threads and cache, so that each costs no more than its weights. Tenants that differ
    in the threshold alone share a detector.
    """

    def __init__(
        self, first: Detector, *, known: Detectors | None = None, make: Make | None = None
    ) -> None:
        """Make a pool of one detector; another is loaded when a tenant first asks for it.

        Args:
            first: The configured detector; all others are closed with it.
            known: The names that tenants may use; by default those of the embedded detectors and
                of the first.
            make: Loads another; by default :meth:`groundwire.Detector.beside` does.
        """
        self.first = first
        self.known = known or Detectors(
            configured=first.info.name, compares=first.judge.score is Score.SIMILARITY
        )
        self._others = {
            name: Lazy(partial(make or first.beside, name)) for name in self.known.others
        }

    def get(self, name: str) -> Detector:
        """A detector, loaded if need be.

        Args:
            name: As :meth:`choose` gives it.

        Raises:
            UnknownModelError: If there is no detector of that name.
            GroundwireError: If it cannot be loaded.
        """
        if name == self.known.first:
            return self.first
        if name not in self._others:
            raise UnknownModelError(name, self.known.names)
        return self._others[name].get()

    def choose(self, own: Overrides | None) -> Chosen:
        """The detector and operating point of a tenant.

        Raises:
            ConfigError: If the tenant's own settings are not possible here.
        """
        return self.known.choose(own)

    def check(self, own: Overrides) -> None:
        """Refuse settings that no detector here can have; no model is loaded.

        Raises:
            ConfigError: If they are not possible; the message says what is.
        """
        chosen = self.choose(own)
        points = self._points(chosen.detector)
        point = chosen.operating_point
        if isinstance(point, str) and point not in points:
            number = (
                "similarity_threshold"
                if self.known.is_comparing(chosen.detector)
                else "a number above 0 and at most 1"
            )
            raise ConfigError(
                [
                    f"operating_point = {point!r} is not possible. It must be one of "
                    f"{', '.join(points)}, for the detector {chosen.detector}; or set {number}."
                ]
            )

    def _points(self, name: str) -> tuple[str, ...]:
        """The named thresholds of a detector."""
        if name == self.known.first:
            return tuple(self.first.judge.operating_points)
        if name == "similarity":
            return tuple(find_model(ENCODER).operating_points)
        manifest = find_reader(name) if name in DETECTORS else None
        return ("balanced",) if manifest is None else tuple(manifest.operating_points)

    def close(self) -> None:
        """Stop the threads, which are those of the first detector."""
        self.first.close()
