"""Keeps a directory of tenants and keys up to date with regular queries of the database."""

import asyncio
import logging
from time import monotonic

from groundwire.control.store.errors import StoreUnavailableError
from groundwire.control.store.opening import pauses
from groundwire.control.tenants.directory import Directory
from groundwire.control.tenants.record import TenantSnapshot
from groundwire.control.tenants.registry import Registry

log = logging.getLogger(__name__)

#: Limit in seconds on reading changes from the database, and on storing uses of keys.
_PATIENCE_S = 5.0


class Watcher:
    """Keeps a directory of tenants and keys up to date with the changes of all processes.

    While the database cannot be read, the directory stays as it was. All coroutines that use a
    watcher must run in the event loop that opened it.
    """

    def __init__(
        self,
        registry: Registry,
        directory: Directory,
        poll_s: float = 0.25,
        *,
        flush_s: float = 30.0,
    ) -> None:
        """Make a watcher; :meth:`open` starts it.

        After a successful query for changes, the watcher waits ``poll_s`` seconds. After a failed
        query, it waits a fraction of a second; each further failure makes the wait longer, up to 5
        seconds. It stores the last uses of keys every ``flush_s`` seconds.
        """
        self._registry, self._directory = registry, directory
        self._poll_s, self._flush_s = poll_s, flush_s
        self._looking = asyncio.Lock()
        self._known: TenantSnapshot | None = None
        self._n_failures = 0
        self._succeeded_at = 0.0
        self._tasks: list[asyncio.Task[None]] = []
        #: How many times tenants and keys were read.
        self.n_loads = 0

    @property
    def is_current(self) -> bool:
        """Whether the last query for changes succeeded; false before the first one."""
        return self._known is not None and not self._n_failures

    @property
    def age_s(self) -> float:
        """Seconds since a query for changes last succeeded; meaningless before the first one."""
        return monotonic() - self._succeeded_at

    async def open(self) -> None:
        """Load tenants and keys, and follow their changes from then on.

        Raises:
            StoreError: If the database cannot be read.
        """
        try:
            await self._look()
        except TimeoutError as error:
            raise StoreUnavailableError("it does not answer") from error
        self._tasks = [
            asyncio.create_task(self._follow(), name="groundwire-tenants"),
            asyncio.create_task(self._keep_uses(), name="groundwire-key-uses"),
        ]

    async def close(self) -> None:
        """Stop following changes, and store the last uses of keys."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
            await self._flush()

    async def refresh(self) -> bool:
        """Look for changes now, for instance if this process made a change. No error is raised.

        Returns:
            Whether the directory is up to date. If not, the watcher tries again.
        """
        try:
            await self._look()
        except Exception as error:  # noqa: BLE001 - whatever fails, requests are still answered
            self._n_failures += 1
            if self._n_failures == 1:
                kind = type(error).__name__
                log.warning("Tenants and keys cannot be read, the last known hold: %s", kind)
        return self.is_current

    async def _follow(self) -> None:
        growing = pauses()
        while True:
            if not self._n_failures:
                growing = pauses()
            await asyncio.sleep(next(growing) if self._n_failures else self._poll_s)
            await self.refresh()

    async def _look(self) -> None:
        async with asyncio.timeout(_PATIENCE_S), self._looking:
            if await self._registry.revision() != self._directory.revision:
                self._known = await self._registry.snapshot(self._known)
                self._directory.apply(self._known)
                self.n_loads += 1
            if self._n_failures:
                log.warning("Tenants and keys can be read again")
            self._n_failures, self._succeeded_at = 0, monotonic()

    async def _keep_uses(self) -> None:
        while True:
            await asyncio.sleep(self._flush_s)
            await self._flush()

    async def _flush(self) -> None:
        uses, is_kept = self._directory.take_uses(), False
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._registry.note_use(uses)
            is_kept = True
        except Exception as error:  # noqa: BLE001 - the next write tries again
            log.info("When keys were used is stored later: %s", type(error).__name__)
        finally:
            if not is_kept:
                self._directory.return_uses(uses)
