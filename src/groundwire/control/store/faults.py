"""Turns errors of SQLAlchemy and of database drivers into errors of the store.

Messages of SQLAlchemy and of drivers may contain addresses, and data of the transaction. So the
messages of the store quote only the class and the code of the original error.
"""

import sqlite3
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy import exc

from groundwire.control.store.errors import (
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    StoreUnusableError,
)

_BUSY = StoreBusyError("others hold it", "Try again; if that goes on, end what holds it")
_FULL = StoreFullError("there is no room left to write", "Make room where it is")
_GONE = StoreUnavailableError(
    "it cannot be reached", "See whether it runs, and where store.url leads"
)
_FAILING = StoreUnavailableError("its machine or server fails", "See the logs there")
_UNKNOWN = StoreError("it does not do that")
_THERE = StoreError("it is there already")
_DANGLING = StoreError("what it refers to is not there")
_NO_SUCH_ROW = StoreError("it takes no such row")
_DAMAGED = StoreUnusableError(
    "it is damaged, or no database", "Restore a backup, or name another in store.url"
)
_OTHER_TABLES = StoreUnusableError(
    "its tables are not as they should be",
    "Give Groundwire a database of its own, or restore a backup",
)
_NO_ACCESS = StoreUnusableError(
    "its file, or the folder of it, cannot be opened and written",
    "Let this user read and write both, or name another file in store.url",
)
_NO_TRUST = StoreUnusableError(
    "no connection that can be trusted was possible",
    "See sslmode and sslrootcert in store.url, and the certificate of the server",
)
_STANDBY = StoreUnavailableError("it takes no writes", "It may be a standby: see to the server")
_NOT_LET_IN = StoreUnusableError(
    "it does not let this user in",
    "See user and password in store.url, and the server's pg_hba.conf",
)
_NO_DATABASE = StoreUnusableError(
    "the server has no such database", "Create it, or name another in store.url"
)
_NO_RIGHTS = StoreUnusableError(
    "its user may not do that",
    "Make the user the owner of the database; docs/store.md has the rights that it needs",
)
_CONNECTIONS = StoreBusyError(
    "the server takes no more connections",
    "Lower store.max_connections, or raise the server's max_connections",
)


def _by_code(table: Mapping[StoreError, str]) -> Mapping[str, StoreError]:
    return {code: fault for fault, codes in table.items() for code in codes.split()}


#: Name of an error of SQLite without ``SQLITE_``, in full or up to its first underscore → fault.
#: IOERR_SHMSIZE means a full disk: the file with the memory that processes share could not grow.
_SQLITE = _by_code(
    {
        _FULL: "FULL IOERR_SHMSIZE",
        _BUSY: "BUSY LOCKED PROTOCOL",
        _NO_ACCESS: "READONLY PERM AUTH CANTOPEN",
        _DAMAGED: "NOTADB CORRUPT",
        _FAILING: "IOERR NOMEM",
        _THERE: "CONSTRAINT_UNIQUE CONSTRAINT_PRIMARYKEY CONSTRAINT_ROWID",
        _DANGLING: "CONSTRAINT_FOREIGNKEY",
        _NO_SUCH_ROW: "CONSTRAINT MISMATCH TOOBIG",
        _OTHER_TABLES: "ERROR SCHEMA",
    }
)

#: Code of an error of PostgreSQL, in full or its first two characters (its class) → fault. Codes:
#: https://www.postgresql.org/docs/current/errcodes-appendix.html
_POSTGRESQL = _by_code(
    {
        # 0A000: the tables have just changed; 57014: a statement took too long.
        _BUSY: "0A000 40 55P03 57014",
        _GONE: "08 57",
        _NO_SUCH_ROW: "22 23",
        _DANGLING: "23503",
        _THERE: "23505",
        _STANDBY: "25006",
        _NOT_LET_IN: "28",
        _NO_DATABASE: "3D",
        _OTHER_TABLES: "3F 42",
        _NO_RIGHTS: "42501",
        _FAILING: "53 58 XX",
        _FULL: "53100",
        _CONNECTIONS: "53300",
        _DAMAGED: "XX001 XX002",
    }
)


@contextmanager
def as_store_errors() -> Iterator[None]:
    """Turn errors of the database in the block into errors of the store.

    Other errors stay as they are.

    Raises:
        StoreError: In place of an error of the database. It has the traceback of that error, but
            not its message.
    """
    try:
        yield
    except Exception as error:
        ours = of(error)
        if ours is None:
            raise
        raise ours.with_traceback(error.__traceback__) from None


def of(error: Exception) -> StoreError | None:
    """Return the store's error for an error of a driver, SQLAlchemy's pool, the network or a file.

    For any other error, return ``None``.
    """
    if isinstance(error, exc.TimeoutError):
        return StoreBusyError(
            "all connections of this process are in use",
            "Try again, or raise store.max_connections",
        )
    if not _is_of_database(error):
        return None
    cause = _cause(error)
    fault, code = _fault(cause)
    names = ", ".join(filter(None, (type(cause).__name__, code)))
    return type(fault)(f"{fault.problem} ({names})", fault.remedy)


def _is_of_database(error: Exception) -> bool:
    # A transaction only talks to the database, so errors of the network and of files are of the
    # database, too.
    drivers = (exc.DBAPIError, exc.DisconnectionError, sqlite3.Error, OSError, TimeoutError)
    return isinstance(error, drivers) or type(error).__module__.startswith("asyncpg.")


def _cause(error: BaseException) -> BaseException:
    """Return the driver's error that SQLAlchemy wraps once or twice; else the error itself."""
    inner = getattr(error, "orig", None) or error
    is_adapted = type(inner).__module__.startswith("sqlalchemy.")
    return inner.__cause__ or inner if is_adapted else inner


def _fault(error: BaseException) -> tuple[StoreError, str]:
    """Return the fault for an error of a driver, and the error's code; empty if it has none."""
    if code := getattr(error, "sqlite_errorname", None):
        code = str(code)
        name = code.removeprefix("SQLITE_")
        return _SQLITE.get(name) or _SQLITE.get(name.partition("_")[0], _UNKNOWN), code
    if code := getattr(error, "sqlstate", None):
        code = str(code)
        return _POSTGRESQL.get(code) or _POSTGRESQL.get(code[:2], _UNKNOWN), code
    return _without_code(error), ""


def _without_code(error: BaseException) -> StoreError:
    """Return the fault for an error without a code, such as one of the network."""
    name = type(error).__name__
    if isinstance(error, TimeoutError):
        return StoreUnavailableError("it does not answer in time", _GONE.remedy)
    if isinstance(error, ssl.SSLCertVerificationError) or "rejected SSL upgrade" in str(error):
        return _NO_TRUST
    if name in ("ClientConfigurationError", "UnsupportedClientFeatureError"):
        return _NO_TRUST  # asyncpg raises these for sslmode and its files
    if name == "DataError" or isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return _NO_SUCH_ROW  # the driver cannot encode a value of the row
    return _GONE
