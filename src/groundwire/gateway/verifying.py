"""Verifications of cited claims: their backend, threads and time limit.

The backend is the model or server that judges the claims. Only the configuration (``verify.*``)
chooses the backend. If requests could choose it, a client could have evidence and keys sent to any
server.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any

from groundwire.config import Config
from groundwire.config.tree import Verify
from groundwire.detector import Detector
from groundwire.engine.settings import n_threads
from groundwire.errors import ModelError
from groundwire.verify.backends import LOCAL, opened
from groundwire.verify.local import LocalVerifier
from groundwire.verify.report import VerificationReport
from groundwire.verify.run import run
from groundwire.verify.settings import arguments_of
from groundwire.verify.subject import Subject
from groundwire.verify.verifier import Scope, Verifier


class Verifications:
    """Verifies cited claims for a gateway.

    Attributes:
        threads: Threads in which verifications run, apart from the threads for checks.
        timeout_s: Seconds that one verification may take, including the wait for a thread.
        settings: The default settings of a request. The time limit of a call to the backend is at
            most that of the whole verification.
    """

    def __init__(self, config: Config, detector: Detector) -> None:
        """Make the threads; no model is loaded yet.

        If the gateway's detector uses an installed reader (Groundwire's own model), verifications
        share the detector's model and cache. Otherwise an installed reader is loaded when the first
        verification needs a reader.
        """
        own = config.verify
        self.timeout_s = config.gateway.check_timeout_s
        self.settings = replace(own, timeout_s=min(own.timeout_s, self.timeout_s))
        self.threads = ThreadPoolExecutor(
            n_threads(config.detector.threads), thread_name_prefix="groundwire-verification"
        )
        self._config, self._detector = config, detector
        self._loading = Lock()
        self._embedded: LocalVerifier | None = None
        self._loaded: Detector | None = None

    def verify(
        self,
        subject: Subject,
        spans: object,
        knobs: Mapping[str, Any],
        *,
        scope: Scope,
        with_citations: bool,
    ) -> VerificationReport:
        """Verify an answer, or the steps of a plan or reasoning, in the caller's thread.

        ``spans`` are the evidence. The request's own settings (``knobs``) take precedence over the
        configuration. If ``with_citations`` is true, the report also lists faults of the citations.

        Raises:
            MissingExtraError: If the client of the backend is not installed.
        """
        arguments = {**arguments_of(self.settings), **knobs}
        verifier = arguments.pop("verifier")
        opens = partial(self._opened, scope=scope)
        return run(subject, spans, arguments, verifier, with_citations=with_citations, opens=opens)

    def close(self) -> None:
        """Wait for running verifications, cancel waiting ones, and close a model loaded here."""
        self.threads.shutdown(wait=True, cancel_futures=True)
        if self._loaded is not None:
            self._loaded.close()

    def _opened(self, settings: Verify, *, scope: Scope) -> AbstractContextManager[Verifier]:
        if settings.verifier == LOCAL:
            return nullcontext(self._local().within(scope))
        return opened(settings, scope)

    def _local(self) -> LocalVerifier:
        with self._loading:
            if self._embedded is None:
                with suppress(ModelError):  # the detector's model is no installed reader
                    self._embedded = LocalVerifier.of(self._detector)
            if self._embedded is None:
                own = self._config.detector
                self._loaded = Detector.load(
                    threads=own.threads, cache_mb=own.cache_mb, cache_ttl_s=own.cache_ttl_s
                )
                self._embedded = LocalVerifier.of(self._loaded)
            return self._embedded
