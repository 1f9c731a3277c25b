"""Verifications of cited claims: their backend, threads and time limit.

The backend is that of the configuration (``verify.*``). A request says what is to be verified and
how strictly, never whom to ask: it would send evidence and keys wherever it likes.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any

from groundwire.config import Config
from groundwire.config.tree import Verify
from groundwire.detector import Detector
from groundwire.engine.reader import n_threads
from groundwire.errors import ModelError
from groundwire.verify.backends import LOCAL, opened
from groundwire.verify.local import LocalVerifier
from groundwire.verify.report import VerificationReport
from groundwire.verify.run import run
from groundwire.verify.settings import arguments_of
from groundwire.verify.subject import Subject
from groundwire.verify.verifier import Scope, Verifier

#: Readings, claims times spans, from which a verification is a long one.
LONG = 500


class Verifications:
    """Verifies cited claims for a gateway.

    Attributes:
        threads: Where that is done. They are not those of checks: who waits for an endpoint must
            not keep answers of others from being checked.
        long_threads: Half as many, for what takes long: nobody else's claim waits behind it.
        timeout_s: Seconds that one may take, the wait for a thread included.
    """

    def __init__(self, config: Config, detector: Detector | None) -> None:
        """Begin; nothing is loaded yet.

        Args:
            config: The configuration.
            detector: Whose model and cache are shared if it has the embedded reader; otherwise that
                is loaded when it is first asked.
        """
        self.timeout_s = config.gateway.check_timeout_s
        n = n_threads(config.detector.threads)
        self.threads = ThreadPoolExecutor(n, thread_name_prefix="groundwire-verification")
        self.long_threads = ThreadPoolExecutor(
            max(1, n // 2), thread_name_prefix="groundwire-long-verification"
        )
        self._config, self._detector = config, detector
        self._loading = Lock()
        self._embedded: LocalVerifier | None = None
        self._loaded: Detector | None = None

    @property
    def settings(self) -> Verify:
        """The settings where a request names none; no call outlasts its verification."""
        own = self._config.verify
        return replace(own, timeout_s=min(own.timeout_s, self.timeout_s))

    def threads_for(
        self, *, n_spans: int, max_claims: int | None, with_citations: bool
    ) -> ThreadPoolExecutor:
        """The threads for a verification.

        Args:
            n_spans: Spans of the request.
            max_claims: Claims that it verifies at most; ``None``: as many as configured.
            with_citations: Whether each may be read with each span.
        """
        n_claims = self.settings.max_claims if max_claims is None else max_claims
        n_readings = n_claims * (n_spans if with_citations else 1)
        return self.long_threads if n_readings >= LONG else self.threads

    def verify(
        self,
        subject: Subject,
        spans: object,
        knobs: Mapping[str, Any],
        *,
        scope: Scope,
        with_citations: bool,
    ) -> VerificationReport:
        """Verify a subject, in a thread of the caller's.

        Args:
            subject: An answer or a trace.
            spans: The evidence.
            knobs: Arguments of the request, which win over the configuration.
            scope: The caller, and the deadline.
            with_citations: Whether citations are looked into.

        Raises:
            MissingExtraError: If the client of the backend is not installed.
        """
        arguments = {**arguments_of(self.settings), **knobs}
        verifier = arguments.pop("verifier")
        return run(
            subject,
            spans,
            arguments,
            verifier,
            with_citations=with_citations,
            opens=partial(self._opened, scope=scope),
        )

    def close(self) -> None:
        """Let what has begun end, and give back what was loaded."""
        for pool in (self.threads, self.long_threads):
            pool.shutdown(wait=True, cancel_futures=True)
        if self._loaded is not None:
            self._loaded.close()

    @contextmanager
    def _opened(self, settings: Verify, *, scope: Scope) -> Iterator[Verifier]:
        if settings.verifier == LOCAL:
            yield self._local().within(scope)
            return
        with opened(settings, scope) as verifier:
            yield verifier

    def _local(self) -> LocalVerifier:
        with self._loading:
            if self._embedded is None:
                self._embedded = self._shared() or self._own()
            return self._embedded

    def _shared(self) -> LocalVerifier | None:
        try:
            return None if self._detector is None else LocalVerifier.of(self._detector)
        except ModelError:  # it has another model
            return None

    def _own(self) -> LocalVerifier:
        own = self._config.detector
        self._loaded = Detector.load(
            threads=own.threads, cache_mb=own.cache_mb, cache_ttl_s=own.cache_ttl_s
        )
        return LocalVerifier.of(self._loaded)
