"""Hearing of changes from PostgreSQL, over a connection that does nothing else."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import select

from groundwire.control.store import Store, StoreError, StoreUnavailableError, tables
from groundwire.control.tenants.transaction import CHANNEL

_REVISION = str(select(tables.changes.c.revision))

#: An answer that takes longer never comes: something between has forgotten the connection.
_PATIENCE_S = 2.0


class ChangeListener:
    """A connection that hears of changes. Once it breaks, :meth:`open` makes another."""

    def __init__(self, store: Store, on_change: Callable[[int | None], None]) -> None:
        """Make one.

        Args:
            store: A PostgreSQL.
            on_change: Called in the event loop with the revision after a change; with ``None`` when
                the connection has broken, after which nothing is heard.
        """
        self._store, self._on_change = store, on_change
        self._driver: Any = None  # asyncpg's, which has no types

    @property
    def is_open(self) -> bool:
        """Whether it hears, as far as is known."""
        return self._driver is not None and not self._driver.is_closed()

    async def open(self) -> None:
        """Connect and listen.

        Raises:
            StoreError: If that is not possible.
        """
        await self.close()
        try:
            self._driver = await self._store.separate()
            self._driver.add_termination_listener(self._break)
            await self._driver.add_listener(CHANNEL, self._hear)
        except BaseException as error:
            await self.close()
            raise _told(error) from error

    async def revision(self) -> int:
        """How many changes there have been, asked over this connection.

        So one that only seems to be there is found out, and one that is there is not taken for
        idle and cut off by something between.

        Raises:
            StoreError: If it is broken; it is closed then.
        """
        if not self.is_open:
            raise StoreUnavailableError("the connection that hears of changes is closed")
        try:
            return int(await self._driver.fetchval(_REVISION, timeout=_PATIENCE_S) or 0)
        except BaseException as error:
            await self.close()
            raise _told(error) from error

    async def close(self) -> None:
        """Hear nothing more."""
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.remove_termination_listener(self._break)
            driver.terminate()  # waits for nobody, and takes nothing from who is cancelled

    def _hear(self, _: object, __: int, ___: str, payload: object) -> None:
        text = str(payload)
        self._on_change(int(text) if text.isdecimal() and len(text) < 20 else 0)

    def _break(self, _: object) -> None:
        self._on_change(None)


def _told(error: BaseException) -> BaseException:
    """What the driver raises, as ours; that somebody is cancelled stays what it is."""
    if not isinstance(error, Exception) or isinstance(error, StoreError):
        return error
    return StoreUnavailableError(f"it does not tell of changes ({type(error).__name__})")
