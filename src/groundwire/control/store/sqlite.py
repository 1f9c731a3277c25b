"""Makes and opens files of SQLite; only their owner can read the files made here."""

import errno
import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import cast

from groundwire.control.store.errors import StoreError, StoreFullError, StoreUnusableError

#: Limit in seconds on the wait for a lock in SQLite or PostgreSQL. SQLite has one writer at a time.
BUSY_S = 5.0

#: Size in bytes to which SQLite cuts back its write-ahead log.
LOG_BYTES = 16 * 2**20

_RETRY_S = 0.05
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def prepare(path: Path) -> None:
    """Make the file of a database if it does not exist, and turn on its write-ahead log.

    Raises:
        StoreError, sqlite3.Error: If the file cannot be made, opened or written.
    """
    try:
        _make_folder(path.parent)
        if not path.exists():
            _make_file(path)
        _require_access(path)
    except OSError as error:
        raise _unusable(error) from error
    _keep_log(path)


def uri(path: Path) -> str:
    """Return the URI with which SQLite opens a file only if it exists."""
    return f"{path.absolute().as_uri()}?mode=rw"


def file_id(path: Path) -> tuple[int, int] | None:
    """Return (device, inode), which show whether a file was replaced; ``None`` on an error."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        return
    folder.chmod(0o700)  # mkdir applies the umask, chmod does not


def _make_file(path: Path) -> None:
    """Make an empty file that only this user can read, unless another process was faster."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        path.chmod(0o600)  # os.open applies the umask, chmod does not


def _require_access(path: Path) -> None:
    # Access is tested without opening the file: closing it would end this process's locks on it.
    ids = os.access in os.supports_effective_ids
    for each, mode in ((path, os.R_OK | os.W_OK), (path.parent, os.R_OK | os.W_OK | os.X_OK)):
        if not os.access(each, mode, effective_ids=ids):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def open_file(path: Path) -> sqlite3.Connection:
    """Open a file that exists. Python begins no transaction by itself."""
    return sqlite3.connect(uri(path), uri=True, timeout=BUSY_S, isolation_level=None)


def _keep_log(path: Path) -> None:
    """Turn on the write-ahead log for good, so that readers do not wait for writers."""
    connection = open_file(path)
    try:
        mode = _journal_mode(connection)
    finally:
        connection.close()
    if mode != "wal":
        raise StoreUnusableError(
            f"its file system has no shared memory (journal mode {mode})",
            "Put the file on a local disk, or use PostgreSQL",
        )


def _journal_mode(connection: sqlite3.Connection) -> str:
    # Processes that start together lock each other out, and SQLite itself does not wait here.
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            return cast(str, connection.execute("PRAGMA journal_mode=WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
        time.sleep(_RETRY_S)


def _unusable(error: OSError) -> StoreError:
    code = errno.errorcode.get(error.errno or 0, type(error).__name__)
    if error.errno in _NO_ROOM:
        return StoreFullError(f"there is no room for its file ({code})", "Make room where it is")
    return StoreUnusableError(
        f"its file cannot be read and written ({code})",
        "Its folder must be one that this user can read and write, and so must the file if there "
        "is one; or name another file in store.url",
    )
