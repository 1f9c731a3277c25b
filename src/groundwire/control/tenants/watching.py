"""Keeps a directory as the database is: hears of changes, or looks for them."""

import asyncio
import logging
import random
from contextlib import suppress
from time import monotonic

from groundwire.control.store import Store, StoreError, StoreUnavailableError
from groundwire.control.tenants.directory import Directory
from groundwire.control.tenants.listening import ChangeListener
from groundwire.control.tenants.record import TenantSnapshot
from groundwire.control.tenants.registry import Registry

log = logging.getLogger(__name__)

#: While changes are heard of: between two looks for those that were not. One that a lost or a
#: pooled connection has swallowed is known within the second all the same.
NET_S = 0.75

#: Between two loads, at least and at most: in a flood of changes as long as the last one took, so
#: that half of the time is left for requests.
_REST_S = (0.02, 0.4)

#: After failures: at first, and at most; it doubles.
_BACKOFF_S = (0.25, 5.0)

#: A database that has not answered for so long does not.
_PATIENCE_S = 5.0


class Watcher:
    """Follows the changes that this process and others make.

    While the database cannot be reached, the directory stays as it was. All coroutines that use a
    watcher run in the event loop that opened it.
    """

    def __init__(
        self,
        store: Store,
        registry: Registry,
        directory: Directory,
        poll_s: float = 0.25,
        *,
        net_s: float = NET_S,
        flush_s: float = 30.0,
    ) -> None:
        """Make one; :meth:`open` starts it.

        Args:
            store: The database, which is open by then.
            registry: Reads it.
            directory: What is kept as the database is.
            poll_s: Between two looks for changes, where they are not heard of.
            net_s: Between two looks for changes that were not heard of, where they should be.
            flush_s: Between two times that the uses of keys are stored.
        """
        self._registry, self._directory = registry, directory
        self._poll_s, self._net_s, self._flush_s = poll_s, net_s, flush_s
        self._listener = None if store.is_sqlite else ChangeListener(store, self._hear)
        self._told, self._looking = asyncio.Event(), asyncio.Lock()
        self._known: TenantSnapshot | None = None
        self._n_failures = self._n_unheard = 0
        self._listens_at = self._succeeded_at = 0.0
        self._tasks: list[asyncio.Task[None]] = []
        #: How often tenants and keys were read.
        self.n_loads = 0

    @property
    def is_current(self) -> bool:
        """Whether the last look for changes succeeded: what is known is what is stored."""
        return self._known is not None and not self._n_failures

    @property
    def age_s(self) -> float:
        """Seconds since what is known was known to be what is stored."""
        return monotonic() - self._succeeded_at

    async def open(self) -> None:
        """Load, and follow from then on.

        Raises:
            StoreError: If the database cannot be read.
        """
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._look()
        except BaseException as error:
            await self._deafen()
            if isinstance(error, TimeoutError):
                raise StoreUnavailableError("it does not answer") from error
            raise
        self._tasks = [
            asyncio.create_task(self._follow(), name="groundwire-tenants"),
            asyncio.create_task(self._keep_uses(), name="groundwire-key-uses"),
        ]

    async def close(self) -> None:
        """Follow no more, and store what is known of uses."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                await asyncio.wait(tasks)
                await self._flush()
        finally:
            await self._deafen()

    async def refresh(self) -> bool:
        """Look now, as after a change of one's own.

        Returns:
            Whether what is known is what is stored. If not, it will be: the watcher tries on.
        """
        await self._try()
        return self.is_current

    # Changes.

    def _hear(self, revision: int | None) -> None:
        """The listener's: what this process has changed, and has read since, is no news."""
        if revision is None or revision > self._directory.revision:
            self._told.set()

    async def _follow(self) -> None:
        while True:
            await self._wait(self._pause_s())
            n_loads, began_at = self.n_loads, monotonic()
            await self._try()
            if self.n_loads > n_loads:
                least, most = _REST_S
                await asyncio.sleep(min(max(least, monotonic() - began_at), most))

    def _pause_s(self) -> float:
        if self._n_failures:
            # Not all replicas at once: the database may be coming up.
            return backoff_s(self._n_failures) * random.uniform(0.5, 1.0)
        is_heard = self._listener is not None and self._listener.is_open
        return self._net_s if is_heard else self._poll_s

    async def _wait(self, pause_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._told.wait()
        self._told.clear()

    async def _try(self) -> None:
        """Look; if that fails, keep what is known."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._look()
        except Exception as error:  # noqa: BLE001 - whatever it is, requests are answered meanwhile
            self._n_failures += 1
            if self._n_failures == 1:
                kind = type(error).__name__
                log.warning("Tenants and keys cannot be read, the last known hold: %s", kind)

    async def _look(self) -> None:
        async with self._looking:
            if await self._revision() != self._directory.revision:
                self._known = await self._registry.snapshot(self._known)
                self._directory.apply(self._known)
                self.n_loads += 1
            if self._n_failures:
                log.warning("Tenants and keys can be read again")
            self._n_failures, self._succeeded_at = 0, monotonic()

    async def _revision(self) -> int:
        """Over the connection that hears of changes, so that it is known to hear."""
        if self._listener is not None:
            try:
                if not self._listener.is_open:
                    await self._listen(self._listener)
                if self._listener.is_open:
                    return await self._listener.revision()
            except StoreError:
                self._n_unheard += 1
                self._listens_at = monotonic() + backoff_s(self._n_unheard)
        return await self._registry.revision()

    async def _listen(self, listener: ChangeListener) -> None:
        if monotonic() >= self._listens_at:
            await listener.open()
            self._n_unheard = 0

    async def _deafen(self) -> None:
        if self._listener is not None:
            await self._listener.close()

    # Uses.

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
        except Exception as error:  # noqa: BLE001 - whatever it is, it is tried again
            log.info("When keys were used is stored later: %s", type(error).__name__)
        finally:
            if not is_kept:
                self._directory.return_uses(uses)


def backoff_s(n_failures: int) -> float:
    """How long to wait after so many failures in a row, from 1 on."""
    first, most = _BACKOFF_S
    return float(min(first * 2 ** min(n_failures - 1, 20), most))
