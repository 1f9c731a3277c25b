"""The detectors of a pipeline: the configured one, and others that tenants have chosen."""

from collections.abc import Callable
from functools import partial

from groundwire.detection.values import Score
from groundwire.detector import Detector
from groundwire.engine.models import DETECTORS, ENCODER, find_model, find_reader
from groundwire.errors import ConfigError, ModelError, UnknownModelError
from groundwire.explain.ranking import shipped_ranker
from groundwire.pipeline.lazy import Lazy
from groundwire.policy.detector_selection import Detectors
from groundwire.policy.policy import Action, Overrides

#: A function that loads the detector of a given name, which is not the configured detector.
Make = Callable[[str], Detector]


class Judges:
    """A pool of detectors: the configured one, and others that are loaded when needed.

    The others are embedded, which means that Groundwire's own packages contain their models. The
    detectors share threads and cache. Tenants that differ only in the threshold share a detector.
    """

    def __init__(
        self, first: Detector, *, known: Detectors | None = None, make: Make | None = None
    ) -> None:
        """Make a pool with one loaded detector; the others are loaded when they are first needed.

        Args:
            first: The configured detector; the others use its threads, and are closed with it.
            known: The names of the detectors that tenants may choose; by default the embedded
                detectors and ``first``.
            make: Loads another detector; by default the method ``beside`` of ``first``.
        """
        self.first = first
        self.known = known or Detectors(
            configured=first.info.name, compares=first.backend.score is Score.SIMILARITY
        )
        self._others = {
            name: Lazy(partial(make or first.beside, name)) for name in self.known.others
        }

    def get(self, name: str) -> Detector:
        """Return the detector with a name from :meth:`.Detectors.choose`; load it if necessary.

        Raises:
            UnknownModelError: If there is no detector of that name.
            GroundwireError: If the detector cannot be loaded.
        """
        if name == self.known.first:
            return self.first
        if name not in self._others:
            raise UnknownModelError(name, self.known.names)
        return self._others[name].get()

    def check(self, own: Overrides) -> None:
        """Check that a tenant's settings suit the chosen detector, without loading the detector.

        Raises:
            ConfigError: If there is no such detector; if it has no operating point of the given
                name, or the threshold is for another kind of detector; or if an action is
                ``repair`` and ``reader-base``, which repairs need, is not installed or cannot be
                used.
            ModelError: If the model of the chosen detector cannot be found.
        """
        if Action.REPAIR in (own.action, own.contradicted_action):
            try:
                shipped_ranker()
            except ModelError as error:
                raise ConfigError([f"The action repair is not possible: {error}"]) from error
        chosen = self.known.choose(own)
        points = self._points(chosen.detector)
        point = chosen.operating_point
        if isinstance(point, str) and point not in points:
            is_comparing = self.known.is_comparing(chosen.detector)
            number = "similarity_threshold" if is_comparing else "a number above 0 and at most 1"
            problem = (
                f"operating_point = {point!r} is not possible. It must be one of "
                f"{', '.join(points)}, for the detector {chosen.detector}; or set {number}."
            )
            raise ConfigError([problem])

    def _points(self, name: str) -> tuple[str, ...]:
        """Return the names of a detector's operating points, which are thresholds with names."""
        if name == self.known.first:
            return tuple(self.first.backend.operating_points)
        if name == "similarity":
            return tuple(find_model(ENCODER).operating_points)
        manifest = find_reader(name) if name in DETECTORS else None
        return ("balanced",) if manifest is None else tuple(manifest.operating_points)
