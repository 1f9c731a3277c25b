"""Makes SQLAlchemy's engines, which open, pool and close connections."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Self
from weakref import WeakSet

from sqlalchemy.event import listen
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, NullPool

from groundwire.control.store import sqlite, threads
from groundwire.control.store.address import DatabaseAddress

#: Limit in seconds on each statement that PostgreSQL runs; statements of migrations have no limit.
STATEMENT_S = 30.0

#: Seconds that transactions have to end, and connections to close, before they are cut off.
CLOSE_S = 2.0


class Engine:
    """An engine of SQLAlchemy that knows the open connections of its driver."""

    def __init__(self, url: str, connect: Callable[[], Awaitable[Any]], **pool: Any) -> None:  # noqa: ANN401 - arguments of SQLAlchemy
        self._connect = connect
        self._open: WeakSet[Any] = WeakSet()
        self._connecting: set[asyncio.Future[Any]] = set()
        self._n_used = 0
        self._unused = asyncio.Event()
        self._unused.set()
        # The URL only names the driver, so that no message has a password. With hide_parameters,
        # no message has values of a statement.
        self.engine: AsyncEngine = create_async_engine(
            url, async_creator=self._connected, hide_parameters=True, **pool
        )

    @classmethod
    def working(
        cls, address: DatabaseAddress, *, pool_size: int, timeout_s: float, is_synced: bool
    ) -> Self:
        """Make an engine for reading and writing, with a pool of connections.

        ``timeout_s`` limits connecting to PostgreSQL, and waiting for a connection from the pool.
        With ``is_synced``, SQLite writes each transaction to the disk at once.
        """
        pragmas = (
            f"synchronous={'FULL' if is_synced else 'NORMAL'}",
            "foreign_keys=ON",
            f"journal_size_limit={sqlite.LOG_BYTES}",
        )
        engine = cls(
            *_driver(address, pragmas, timeout_s=timeout_s, statement_s=STATEMENT_S),
            poolclass=AsyncAdaptedQueuePool,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=timeout_s,
            # Pooled connections are tested before use, since a restart of the server breaks them.
            pool_pre_ping=address.path is None,
        )
        if address.path is not None:
            listen(engine.engine.sync_engine, "checkout", threads.require_open)
        return engine

    @classmethod
    def migrating(cls, address: DatabaseAddress, *, timeout_s: float) -> Self:
        """Make an engine for a connection that may change tables, without a limit on statements.

        In SQLite, most changes of a table replace the table by a new one. Foreign keys are not
        enforced meanwhile. Otherwise, rows that refer to the old table could be deleted with it.
        """
        driver = _driver(address, ("foreign_keys=OFF",), timeout_s=timeout_s, statement_s=None)
        return cls(*driver, poolclass=NullPool)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection]:
        """Yield a connection for one transaction."""
        self._n_used += 1
        self._unused.clear()
        try:
            async with self.engine.connect() as connection:
                yield connection
        finally:
            self._n_used -= 1
            if not self._n_used:
                self._unused.set()

    async def close(self) -> None:
        """Close all connections; after :data:`CLOSE_S` seconds, also those in use."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await self._unused.wait()
                    await self.engine.dispose()
                    await asyncio.gather(*self._connecting, return_exceptions=True)
        finally:
            for attempt in self._connecting:
                attempt.cancel()
            for connection in tuple(self._open):
                await _cut_off(connection)

    async def _connected(self) -> Any:  # noqa: ANN401 - a connection of the driver
        # A driver leaks resources if it is cancelled while it connects, so connecting is shielded
        # from cancellation.
        attempt = asyncio.ensure_future(self._connect())
        self._connecting.add(attempt)
        attempt.add_done_callback(self._connecting.discard)
        try:
            connection = await asyncio.shield(attempt)
        except asyncio.CancelledError:
            attempt.add_done_callback(self._give_up)
            raise
        self._open.add(connection)
        return connection

    def _give_up(self, attempt: asyncio.Future[Any]) -> None:
        """Close the connection that an attempt has opened for a task that was cancelled."""
        if attempt.cancelled() or attempt.exception() is not None:
            return
        closing = asyncio.ensure_future(_cut_off(attempt.result()))
        self._connecting.add(closing)
        closing.add_done_callback(self._connecting.discard)


def _driver(
    address: DatabaseAddress,
    pragmas: tuple[str, ...],
    *,
    timeout_s: float,
    statement_s: float | None,
) -> tuple[str, Callable[[], Awaitable[Any]]]:
    """Return the URL that names the driver of a database, and the function that connects.

    ``pragmas`` are for SQLite; ``timeout_s`` and ``statement_s`` limit PostgreSQL alone.
    """
    if address.path is not None:
        return "sqlite+aiosqlite:///file", partial(threads.connect, address.path, pragmas)
    import asyncpg

    connect = partial(
        asyncpg.connect,
        address.dsn,
        timeout=timeout_s,
        command_timeout=statement_s,
        server_settings={"lock_timeout": f"{1000 * sqlite.BUSY_S:.0f}"},
    )
    return "postgresql+asyncpg://", connect


async def _cut_off(connection: Any) -> None:  # noqa: ANN401 - a connection of the driver
    """Close a connection, if it is not closed yet, without waiting for a server."""
    if hasattr(connection, "terminate"):
        connection.terminate()
    else:
        with suppress(ValueError):  # raised if the connection is being closed already
            await connection.close()
