"""Connections to files of SQLite, each with a thread that finishes every statement it has begun.

A cancelled task waits until its statement has ended, so that no statement is running when the
connection is used again.
"""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import aiosqlite
from sqlalchemy.exc import DisconnectionError

from groundwire.control.store.sqlite import open_file


async def connect(path: Path, pragmas: Iterable[str]) -> "FileConnection":
    """Open a connection to a file, and set its pragmas.

    Raises:
        sqlite3.Error: If the file cannot be opened.
    """
    opening = FileConnection(partial(open_file, path), iter_chunk_size=64)
    # With a daemon thread, the process can end even if nobody closes the connection.
    opening._thread.daemon = True
    connection = await opening
    assert isinstance(connection, FileConnection)
    try:
        for pragma in pragmas:
            await connection.execute_fetchall(f"PRAGMA {pragma}")
    except BaseException:
        await connection.close()
        raise
    return connection


class FileConnection(aiosqlite.Connection):
    """A connection of aiosqlite whose statements and closing cannot be cancelled halfway."""

    #: Whether the connection is closed, or about to be closed.
    is_stopped = False
    _closing: asyncio.Future[None] | None = None

    async def close(self) -> None:
        """Close the connection; a cancellation of this task takes effect only afterwards."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        if await _is_cancelled_before(self._closing):
            _cancel_again()
        self._closing.result()

    async def _close(self) -> None:
        if not self.is_stopped:
            await super().close()

    def stop(self) -> asyncio.Future[Any] | None:
        """Make the thread close the connection and end; a second call does nothing."""
        if self.is_stopped:
            return None
        self.is_stopped = True
        return super().stop()

    async def _execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        if not self._running or self._connection is None:
            raise ValueError("Connection closed")  # tells SQLAlchemy that the connection is lost
        future = asyncio.get_running_loop().create_future()
        self._tx.put_nowait((future, partial(fn, *args, **kwargs)))
        if await _is_cancelled_before(future):
            raise asyncio.CancelledError
        return future.result()


def require_open(_: object, record: Any, __: object) -> None:  # noqa: ANN401 - of SQLAlchemy's pool
    """Make a pool replace a connection that a cancelled task has stopped.

    Raises:
        DisconnectionError: If the connection is stopped.
    """
    if record.driver_connection.is_stopped:
        raise DisconnectionError


async def _is_cancelled_before(future: asyncio.Future[Any]) -> bool:
    """Wait for a future, and return whether this task was cancelled meanwhile."""
    is_cancelled = False
    while not future.done():
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError:
            is_cancelled = not future.cancelled()
        except Exception:  # noqa: BLE001 - the caller looks at the future
            break
    if is_cancelled and not future.cancelled():
        future.exception()  # marks the exception as retrieved
    return is_cancelled


def _cancel_again() -> None:
    """Cancel this task at its next ``await``; this and the earlier cancellation count as one."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
    task.cancel()
