"""A database: its connections, and transactions in it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from groundwire.config import Config
from groundwire.gateway.folder import data_folder
from groundwire.gateway.store.errors import told

#: The database where none is configured, in the folder of what the gateway keeps.
FILE = "groundwire.db"

#: SQLite takes one writer at a time; others wait this long for their turn.
BUSY_S = 5.0


class Store:
    """A database. One store serves one event loop."""

    def __init__(
        self,
        url: str | URL,
        *,
        pool_size: int = 5,
        timeout_s: float = 5.0,
        is_synced: bool = False,
    ) -> None:
        """Make one; :meth:`open` connects.

        Args:
            url: ``sqlite:///path/to/file``, or ``postgresql://user:password@host/database``.
            pool_size: Connections at a time, of PostgreSQL.
            timeout_s: To connect, and to wait for a connection.
            is_synced: Whether what a SQLite file takes is on the disk once it is kept, so that it
                outlives a power cut; otherwise it outlives the end of the process alone.
        """
        self.url = _with_driver(make_url(url))
        self._is_synced = is_synced
        self._pool_size, self._timeout_s = pool_size, timeout_s
        self._engine: AsyncEngine | None = None

    @classmethod
    def of(cls, config: Config, *, is_synced: bool = False) -> "Store":
        """The database of a configuration: ``store.url``, else a file in its folder."""
        own = config.store
        return cls(
            own.url.reveal() if own.url else _file_url(data_folder(config) / FILE),
            pool_size=own.max_connections,
            timeout_s=own.timeout_s,
            is_synced=is_synced,
        )

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of SQLite; else it is PostgreSQL."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def engine(self) -> AsyncEngine:
        """What connects."""
        assert self._engine is not None, "the store is not open"
        return self._engine

    async def open(self) -> None:
        """Connect, and bring the tables up to date.

        Raises:
            StoreError: If that is not possible.
        """
        from groundwire.gateway.store.migrate import migrate

        self._engine = self._connected()
        try:
            with told():
                await migrate(self)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Let go of all connections."""
        if self._engine is not None:
            await self._engine.dispose()
            self._engine = None

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that changes nothing.

        Raises:
            StoreError: If the database fails.
        """
        with told():
            async with self.engine.connect() as connection:
                yield connection
                await connection.rollback()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that is kept whole when the block ends, and not at all if it raises.

        Raises:
            StoreError: If the database fails.
        """
        with told():
            async with self.engine.connect() as connection:
                if self.is_sqlite:
                    # Taken at once: a reader that begins to write may find that it has to give up.
                    await connection.execute(text("BEGIN IMMEDIATE"))
                yield connection
                await connection.commit()

    def _connected(self) -> AsyncEngine:
        if self.is_sqlite:
            engine = create_async_engine(self.url, connect_args={"timeout": BUSY_S})
            event.listen(engine.sync_engine, "connect", self._prepare_sqlite)
            return engine
        return create_async_engine(
            self.url,
            pool_size=self._pool_size,
            pool_timeout=self._timeout_s,
            pool_pre_ping=True,
            connect_args={"timeout": self._timeout_s, "command_timeout": 30},
        )

    def _prepare_sqlite(self, connection: Any, _: object) -> None:  # noqa: ANN401 - of the driver
        # The driver is to begin no transaction by itself: we say when, and of which kind.
        connection.isolation_level = None
        synchronous = "FULL" if self._is_synced else "NORMAL"
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", f"synchronous={synchronous}", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()


def _file_url(path: Path) -> URL:
    return URL.create("sqlite", database=str(path))


def _with_driver(url: URL) -> URL:
    drivers: dict[str, Literal["sqlite+aiosqlite", "postgresql+asyncpg"]] = {
        "sqlite": "sqlite+aiosqlite",
        "postgresql": "postgresql+asyncpg",
        "postgres": "postgresql+asyncpg",
    }
    return url.set(drivername=drivers[url.get_backend_name()])
