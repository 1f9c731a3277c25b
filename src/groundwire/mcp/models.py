"""The models of a server. Each is loaded once, by the first call that needs it, and then shared."""

from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

from groundwire.config import Config
from groundwire.engine.models import DEFAULT_MODEL, READERS

if TYPE_CHECKING:
    from groundwire.detector import Detector
    from groundwire.engine.reader import Reader
    from groundwire.explain import Explainer
    from groundwire.verify.local import LocalVerifier

_T = TypeVar("_T")

# Slow libraries are imported inside functions, so that a client that only lists the tools does not
# wait for them.


class Models:
    """Loads and keeps the models of a server.

    These are the detector that the configuration names, which checks answers, and the embedded
    reader, which verifies claims and searches evidence. If a model cannot be loaded, a
    ``GroundwireError`` is raised. Threads may share this object.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lock = RLock()
        self._loaded: dict[str, Any] = {}

    @property
    def detector(self) -> "Detector":
        """The detector that the configuration names."""
        from groundwire.pipeline.load import load_detector

        return self._once("detector", lambda: load_detector(self._config))

    @property
    def embedded(self) -> "Detector":
        """A detector with the embedded reader, a model that runs in this process.

        If the configuration names one of :data:`READERS`, this is the same object as
        :attr:`detector`.
        """
        from groundwire.detector import Detector

        own = self._config.detector
        if own.name in READERS:
            return self.detector
        return self._once(
            "embedded", lambda: Detector.load(threads=own.threads, cache_mb=own.cache_mb)
        )

    @property
    def reader(self) -> "Reader":
        """The embedded reader, a model that runs in this process."""
        from groundwire.engine.reader import Reader

        judge = self.embedded.backend
        assert isinstance(judge, Reader)
        return judge

    def verifier(self, tenant: str) -> "LocalVerifier":
        """Return the verifier ``local`` for a cache namespace; namespaces share no cached texts."""
        from groundwire.verify.local import LocalVerifier
        from groundwire.verify.verifier import Scope

        verifier = self._once("verifier", lambda: LocalVerifier.of(self.embedded))
        return verifier.within(Scope(tenant=tenant))

    @property
    def explainer(self) -> "Explainer":
        """The explainer, which says why words are marked; it never changes the outcome."""
        from groundwire.explain import Explainer

        own = self._config.explain
        return Explainer(
            self.reader.entailment,
            name=DEFAULT_MODEL,
            takes_detectors=True,
            threshold=own.threshold,
            entailment_threshold=own.entailment_threshold,
            drops_entailed=False,
        )

    def close(self) -> None:
        """Close the detectors that were loaded."""
        with self._lock:
            for name in self._loaded.keys() & {"detector", "embedded"}:
                self._loaded[name].close()

    def _once(self, name: str, load: Callable[[], _T]) -> _T:
        """Return the model that is kept under a name; load it if it is not there yet."""
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = load()
            model: _T = self._loaded[name]
            return model
