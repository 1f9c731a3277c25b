"""Chooses the detector of a tenant and the threshold of the detector, without loading a model."""

from dataclasses import dataclass

from groundwire.engine.models import DEFAULT_MODEL, EMBEDDERS
from groundwire.errors import ConfigError
from groundwire.policy.policy import Overrides

#: Embedder → name of the similarity detector that uses it, in metrics and results.
_COMPARING = {"neural": "similarity", "hash": "similarity:hash"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The detector of a tenant, and the threshold of the detector.

    Attributes:
        detector: Name of the detector in metrics.
        operating_point: Threshold of the detector, by name or as a number; ``None`` if the tenant
            sets none.
    """

    detector: str
    operating_point: str | float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Detectors:
    """The detectors that tenants may name: ``reader``, similarity detectors, the configured one.

    Attributes:
        configured: Name, in the configuration, of the detector that is used if a tenant names none.
        embedder: The embedder that the detector ``similarity`` uses: ``neural`` or ``hash``.
        compares: Whether the configured detector gives similarities. The value is not needed for
            ``similarity`` and its variants.
    """

    configured: str = DEFAULT_MODEL
    embedder: str = "neural"
    compares: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All names of detectors that a tenant may use."""
        return tuple(dict.fromkeys((self.configured, DEFAULT_MODEL, *EMBEDDERS)))

    @property
    def first(self) -> str:
        """Name of the configured detector in metrics."""
        return self.find(self.configured) or self.configured

    @property
    def others(self) -> tuple[str, ...]:
        """Names, in metrics, of the detectors that tenants may name, without the configured one."""
        return tuple(name for name in (DEFAULT_MODEL, *_COMPARING.values()) if name != self.first)

    def find(self, stated: str) -> str | None:
        """Return the name, in metrics, of the detector that a tenant names; ``None`` if unknown.

        >>> Detectors(embedder="hash").find("similarity")
        'similarity:hash'
        """
        if stated == "similarity":
            return _COMPARING[self.embedder]
        if stated in EMBEDDERS:
            return _COMPARING[EMBEDDERS[stated]]
        return stated if stated in (DEFAULT_MODEL, self.configured) else None

    def is_comparing(self, name: str) -> bool:
        """Return whether a detector gives similarities instead of probabilities."""
        return name in _COMPARING.values() or (name == self.first and self.compares)

    def point_beside(self, name: str, threshold: float | None) -> str | float:
        """Return the threshold of a detector that a tenant chooses without setting a threshold.

        The detector is not the configured one. The threshold is ``similarity.threshold`` if that
        setting is meant for this detector, or else the operating point ``balanced``.

        Args:
            name: The detector's name, as :meth:`find` returns it.
            threshold: The setting ``similarity.threshold``, or ``None``. It is meant for the
                configured detector if that gives similarities, or else for ``similarity``.
        """
        is_meant = name == self.find("similarity") and not self.is_comparing(self.first)
        return threshold if threshold is not None and is_meant else "balanced"

    def choose(self, own: Overrides | None) -> Chosen:
        """Return the detector and the threshold that a tenant's settings choose.

        Without settings of its own (``None``), a tenant has the configured detector.

        Raises:
            ConfigError: If there is no such detector, or the tenant's threshold is for another kind
                of detector.
        """
        own = own or Overrides()
        name = self.first if own.detector is None else self.find(own.detector)
        if name is None:
            raise _impossible(
                f"detector = {own.detector!r:.100} is not possible. It must be one of "
                f"{', '.join(self.names)}. To use another model, name it in the setting "
                "detector.name."
            )
        point, similarity = own.operating_point, own.similarity_threshold
        is_comparing = self.is_comparing(name)
        if is_comparing and isinstance(point, int | float):
            raise _impossible(
                f"operating_point = {point:g} is a threshold of probabilities, and {name} gives "
                "similarities. Set similarity_threshold instead, or set operating_point to the "
                "name of an operating point."
            )
        if not is_comparing and similarity is not None:
            raise _impossible(
                f"similarity_threshold = {similarity:g} is a threshold of similarities, and {name} "
                "gives probabilities. Set operating_point instead, or set detector to similarity."
            )
        return Chosen(detector=name, operating_point=point if similarity is None else similarity)


def _impossible(problem: str) -> ConfigError:
    return ConfigError([problem])
