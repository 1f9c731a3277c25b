"""The start of the gateway: requests wait for the models, but probes are answered at once."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Scope

from groundwire.config.findings import findings
from groundwire.gateway.control_state import PATIENCE_S
from groundwire.gateway.http.caller import OPEN
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.middleware.guard import Guard
from groundwire.gateway.services import Services, tenants_of

if TYPE_CHECKING:
    from groundwire.gateway.control import ControlPlane

log = logging.getLogger(__name__)


class Readiness:
    """The state of the gateway's start: not finished, succeeded or failed.

    Attributes:
        services: The services; ``None`` until the start has succeeded.
        failure: The error that prevented the start, or ``None``.
        control: The control plane; ``None`` if the gateway has no database.
    """

    def __init__(self, on_failure: Callable[[Exception], None] | None = None) -> None:
        self.services: Services | None = None
        self.failure: Exception | None = None
        self.control: ControlPlane | None = None
        self._on_failure = on_failure
        self._is_settled = asyncio.Event()
        self._warnings: tuple[int, list[dict[str, str]]] | None = None

    def succeed(self, services: Services) -> None:
        """Record that the start has succeeded."""
        self.services = services
        self._is_settled.set()

    def fail(self, error: Exception) -> None:
        """Record and log that the start has failed, and call ``on_failure`` if it was given."""
        self.failure = error
        log.error("The gateway cannot start: %s", type(error).__name__)
        self._is_settled.set()
        if self._on_failure is not None:
            self._on_failure(error)

    @property
    def warnings(self) -> list[dict[str, str]]:
        """Warnings about the configuration and tenants, as JSON data with code and message.

        The list is empty until the start has succeeded.
        """
        if self.services is None:
            return []
        config, control = self.services.config, self.control
        revision = 0 if control is None else control.directory.revision
        if self._warnings is None or self._warnings[0] != revision:
            found = findings(config, tenants=tenants_of(config, control))
            said = [{"code": each.code, "message": each.message} for each in found]
            self._warnings = revision, said
        return self._warnings[1]

    async def wait(self) -> None:
        """Wait until the start has succeeded or failed, for at most ``PATIENCE_S`` seconds.

        Raises:
            Problem: 503, if the start has failed or takes longer.
        """
        if self.services is not None:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_settled.wait(), PATIENCE_S)
        if self.services is None:
            raise Problem.named("starting" if self.failure is None else "not_started")


class Waiting(Guard):
    """Middleware that makes requests wait until the gateway has started.

    Requests for probes, metrics and the OpenAPI document (:data:`.caller.OPEN`) do not wait.
    """

    def __init__(self, app: ASGIApp, *, readiness: Readiness) -> None:
        super().__init__(app)
        self._readiness = readiness

    async def check(self, scope: Scope) -> None:
        """Wait for the start of the gateway, unless the path is in :data:`.caller.OPEN`.

        Raises:
            Problem: 503, if the start has failed, or this request has waited for ``PATIENCE_S``
                seconds.
        """
        if scope["path"] not in OPEN:
            await self._readiness.wait()
