"""One process at a time: what ends a lock is the end of its block, or that of its process."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from groundwire.control.store import Store
from groundwire.control.store.faults import told

#: Any number, the same for all that prune.
_LOCK = 4_713_920_519
#: Beside a file of SQLite: while the lock is held, others go on writing into that.
_SUFFIX = "-retention"
_CONNECT_S, _CLOSE_S = 10.0, 2.0


@asynccontextmanager
async def alone(store: Store) -> AsyncIterator[bool]:
    """Whether no other process is in such a block of the same store; none is let in meanwhile.

    Raises:
        StoreError: If the database fails.
    """
    path = store.address.path
    if path is not None:
        with closing(_Lock(path.with_name(path.name + _SUFFIX))) as lock:
            yield lock.is_held
        return
    connection = await _connected(store.address.dsn)
    try:
        with told():
            is_alone = bool(await connection.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK))
        yield is_alone
    finally:
        try:
            await connection.close(timeout=_CLOSE_S)
        except Exception:  # noqa: BLE001 - whatever it is, the lock has to go
            connection.terminate()


async def _connected(dsn: str) -> Any:  # noqa: ANN401 - of the driver
    """A connection of its own: the store may have one alone, and what is removed needs that."""
    import asyncpg

    with told():
        return await asyncpg.connect(dsn, timeout=_CONNECT_S, command_timeout=_CONNECT_S)


class _Lock:
    """A database with nothing in it, which one process at a time may begin to write."""

    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600)
        self._connection = sqlite3.connect(path, timeout=0, isolation_level=None)
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self.is_held = True
        except sqlite3.OperationalError:
            self.is_held = False

    def close(self) -> None:
        """Let others in."""
        self._connection.close()
