"""Which detector judges for a tenant, and where it flags: pure, and known without any model."""

from dataclasses import dataclass

from groundwire.engine.models import DEFAULT_MODEL, EMBEDDERS
from groundwire.errors import ConfigError
from groundwire.policy.policy import Overrides

#: An embedder → the detector that compares with it, as results call it.
_COMPARING = {"neural": "similarity", "hash": "similarity:hash"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What judges for a tenant.

    Attributes:
        detector: Its name, as metrics and results have it.
        operating_point: Where it flags; ``None``: where it does for everybody.
    """

    detector: str
    operating_point: str | float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Detectors:
    """The detectors that tenants may name: the embedded ones, and that of the configuration.

    Attributes:
        configured: What judges where a tenant names none, as the configuration calls it.
        embedder: What ``similarity`` compares with, where its name does not say.
        compares: Whether the configured one gives similarities, if that is not an embedded one.
    """

    configured: str = DEFAULT_MODEL
    embedder: str = "neural"
    compares: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """What a tenant may say."""
        return tuple(dict.fromkeys((self.configured, DEFAULT_MODEL, *EMBEDDERS)))

    @property
    def first(self) -> str:
        """What the configured one is called."""
        return self.find(self.configured) or self.configured

    @property
    def others(self) -> tuple[str, ...]:
        """What the embedded ones beside it are called."""
        return tuple(name for name in (DEFAULT_MODEL, *_COMPARING.values()) if name != self.first)

    def find(self, said: str) -> str | None:
        """What a detector is called that a tenant names; ``None`` if there is no such one.

        >>> Detectors(embedder="hash").find("similarity")
        'similarity:hash'
        """
        if said == "similarity":
            return _COMPARING[self.embedder]
        if said in EMBEDDERS:
            return _COMPARING[EMBEDDERS[said]]
        return said if said in (DEFAULT_MODEL, self.configured) else None

    def is_comparing(self, name: str) -> bool:
        """Whether a detector gives similarities, and no probabilities."""
        return name in _COMPARING.values() or (name == self.first and self.compares)

    def point_beside(self, name: str, threshold: float | None) -> str | float:
        """Where another detector than the configured one flags, if its tenant does not say.

        At a threshold of its own: that of the configured one is for other scores.

        Args:
            name: As :meth:`find` gives it.
            threshold: ``similarity.threshold``, which is for the detector ``similarity``, unless
                the configured one compares too: then it is for that.
        """
        is_meant = name == self.find("similarity") and not self.is_comparing(self.first)
        return threshold if threshold is not None and is_meant else "balanced"

    def choose(self, own: Overrides | None) -> Chosen:
        """What judges for a tenant.

        Args:
            own: What the tenant has of its own.

        Raises:
            ConfigError: If there is no such detector, or a threshold means nothing to it.
        """
        if own is None:
            return Chosen(detector=self.first)
        name = self.first if own.detector is None else self.find(own.detector)
        if name is None:
            raise ConfigError([self._unknown(str(own.detector))])
        point, similarity = own.operating_point, own.similarity_threshold
        if self.is_comparing(name):
            if isinstance(point, int | float):
                raise ConfigError(
                    [
                        f"operating_point = {point:g} is a probability, and {name} compares. "
                        "Set similarity_threshold, or operating_point to the name of one."
                    ]
                )
            return Chosen(
                detector=name, operating_point=point if similarity is None else similarity
            )
        if similarity is not None:
            raise ConfigError(
                [
                    f"similarity_threshold = {similarity:g} is for a detector that compares, and "
                    f"{name} gives probabilities. Set operating_point, or detector to similarity."
                ]
            )
        return Chosen(detector=name, operating_point=point)

    def _unknown(self, said: str) -> str:
        known = ", ".join(self.names)
        return (
            f"detector = {said!r:.100} is not possible. It must be one of {known}: a model from "
            "outside the package is loaded if detector.name names it."
        )
