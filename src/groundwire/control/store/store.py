"""The store: connections to a database, and transactions in it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Self

from sqlalchemy import Table, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects import sqlite as sqlite_dialect
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.config import Config
from groundwire.control.folder import data_folder
from groundwire.control.store import errors, sqlite
from groundwire.control.store.address import DatabaseAddress
from groundwire.control.store.engines import Engine
from groundwire.control.store.faults import as_store_errors
from groundwire.control.store.migrate import make_ready, require_current

#: The file of the database if none is configured, in the data folder of the gateway.
FILE = "groundwire.db"


class Store:
    """A database of the control plane. One store serves one event loop.

    ``async with`` opens and closes the store. A transaction is kept whole or not at all. If a
    connection is lost, a later transaction opens a new one.
    """

    def __init__(
        self,
        url: str | DatabaseAddress,
        *,
        pool_size: int = 5,
        timeout_s: float = 5.0,
        is_synced: bool = False,
    ) -> None:
        """Make a store; :meth:`open` connects.

        Args:
            url: ``sqlite:///path/of/a/file``, ``postgresql://user:password@host/database``, or an
                address that was read already.
            pool_size: Highest number of open connections. If all are in use, a transaction waits.
            timeout_s: Limit in seconds on connecting to PostgreSQL, and on waiting for a free
                connection.
            is_synced: Whether a transaction in a file of SQLite is on the disk when it ends, so
                that it survives a power cut. Otherwise, a power cut may undo the last transactions.

        Raises:
            SettingError: If the URL is not valid. The message does not show the URL.
        """
        self.address = url if isinstance(url, DatabaseAddress) else DatabaseAddress.read(url)
        self._is_synced = is_synced
        self._pool_size, self._timeout_s = pool_size, timeout_s
        self._engine: Engine | None = None
        self._file: tuple[int, int] | None = None
        self._writer = asyncio.Lock()

    @classmethod
    def of(cls, config: Config, *, is_synced: bool = False) -> Self:
        """Make the store of a configuration: ``store.url``, or a file in the data folder.

        Raises:
            SettingError: If ``store.url`` is not valid.
        """
        return cls(
            address_of(config),
            pool_size=config.store.max_connections,
            timeout_s=config.store.timeout_s,
            is_synced=is_synced,
        )

    def __repr__(self) -> str:
        return f"Store({self.where!r})"

    @property
    def where(self) -> str:
        """The address of the database, without the password."""
        return self.address.shown

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is a file of SQLite; otherwise it is PostgreSQL."""
        return self.address.path is not None

    @property
    def is_open(self) -> bool:
        """Whether the store is open."""
        return self._engine is not None

    async def open(self, *, migrates: bool = True) -> None:
        """Open the store, in one attempt.

        Args:
            migrates: Whether tables are made or brought up to date. Otherwise a database is refused
                if it has no tables of this version.

        Raises:
            StoreError: If the database cannot be used; ``is_passing`` says whether another attempt
                makes sense.
        """
        if self.is_open:
            return
        prepare = make_ready if migrates else require_current
        await prepare(self.address, timeout_s=self._timeout_s)
        if self.is_open:  # another task opened it meanwhile
            return
        self._file = self._file_id()
        self._writer = asyncio.Lock()
        self._engine = Engine.working(
            self.address,
            pool_size=self._pool_size,
            timeout_s=self._timeout_s,
            is_synced=self._is_synced,
        )

    async def close(self) -> None:
        """Close all connections. Transactions that do not end soon are not kept."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """Begin a transaction that only reads.

        The transaction sees the database as it was at the first query.

        Raises:
            StoreError: If the database fails.
        """
        with as_store_errors():
            async with self._ready().connection() as connection:
                if self.is_sqlite:
                    await connection.execute(text("BEGIN"))
                else:
                    await connection.execution_options(
                        isolation_level="REPEATABLE READ", postgresql_readonly=True
                    )
                yield connection
                await connection.rollback()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """Begin a transaction, which is kept unless the ``with`` block ends with an exception.

        The block must do nothing but talk to the database: SQLite takes one writer at a time, for
        which all others wait.

        Raises:
            StoreError: If the database fails.
        """
        with as_store_errors():
            # SQLite has no queue of writers, so the writers of this process queue here.
            turn = holding(self._writer, sqlite.BUSY_S) if self.is_sqlite else nullcontext()
            async with turn, self._ready().connection() as connection:
                if self.is_sqlite:
                    # The file is locked at once, since a transaction that begins with a read may
                    # not be able to write later.
                    await connection.execute(text("BEGIN IMMEDIATE"))
                yield connection
                await connection.commit()

    def insert(self, table: Table) -> postgresql.Insert | sqlite_dialect.Insert:
        """Return an insert statement of the database's dialect, which may say ``ON CONFLICT``."""
        return (sqlite_dialect.insert if self.is_sqlite else postgresql.insert)(table)

    def _ready(self) -> Engine:
        if self._engine is None:
            raise errors.StoreUnavailableError("it is not open", "Try again once it is")
        if self._file_id() != self._file:
            # Data that is written to a deleted file is lost when the file is closed.
            raise errors.StoreUnusableError(
                "its file was moved, removed or replaced while it was in use",
                "Put it back, or start again",
            )
        return self._engine

    def _file_id(self) -> tuple[int, int] | None:
        return None if self.address.path is None else sqlite.file_id(self.address.path)


@asynccontextmanager
async def holding(lock: asyncio.Lock, patience_s: float) -> AsyncIterator[None]:
    """Hold a lock, which writers of this process take in turn, during the ``with`` block.

    Raises:
        StoreBusyError: If the lock is not free within ``patience_s`` seconds.
    """
    try:
        async with asyncio.timeout(patience_s):
            await lock.acquire()
    except TimeoutError:
        problem = f"others of this process have held it for {patience_s:g} s"
        raise errors.StoreBusyError(problem, "Try again") from None
    try:
        yield
    finally:
        lock.release()


def address_of(config: Config) -> DatabaseAddress:
    """Return the address of the database of a configuration.

    Raises:
        SettingError: If ``store.url`` is not valid.
    """
    if config.store.url is not None:
        return DatabaseAddress.read(config.store.url.reveal())
    return DatabaseAddress.of_file(data_folder(config) / FILE)
