"""Turns errors of SQLAlchemy and the drivers into our errors.

Their messages may hold data of the transaction, and addresses: ours have the class and code alone.
"""

import sqlite3
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import exc

from groundwire.control.store.errors import (
    ConflictError,
    MissingReferenceError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    StoreUnusableError,
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Our error for some errors of a driver."""

    kind: type[StoreError]
    problem: str
    remedy: str = ""


_BUSY = Fault(StoreBusyError, "others hold it", "Try again; if that goes on, end what holds it")
_FULL = Fault(StoreFullError, "there is no room left to write", "Make room where it is")
_GONE = Fault(
    StoreUnavailableError, "it cannot be reached", "See whether it runs, and where store.url leads"
)
_FAILING = Fault(StoreUnavailableError, "its machine or server fails", "See the logs there")
_UNKNOWN = Fault(StoreError, "it does not do that")
_THERE = Fault(ConflictError, "it is there already")
_DANGLING = Fault(MissingReferenceError, "what it refers to is not there")
_NO_SUCH_ROW = Fault(StoreError, "it takes no such row")
_DAMAGED = Fault(
    StoreUnusableError,
    "it is damaged, or no database",
    "Restore a backup, or name another in store.url",
)
_OTHER_TABLES = Fault(
    StoreUnusableError,
    "its tables are not as they should be",
    "Give Groundwire a database of its own, or restore a backup",
)
_NO_ACCESS = Fault(
    StoreUnusableError,
    "its file, or the folder of it, cannot be opened and written",
    "Let this user read and write both, or name another file in store.url",
)
_NO_TRUST = Fault(
    StoreUnusableError,
    "no connection that can be trusted was possible",
    "See sslmode and sslrootcert in store.url, and the certificate of the server",
)
_STANDBY = Fault(
    StoreUnavailableError, "it takes no writes", "It may be a standby: see to the server"
)
_NOT_LET_IN = Fault(
    StoreUnusableError,
    "it does not let this user in",
    "See user and password in store.url, and the server's pg_hba.conf",
)
_NO_DATABASE = Fault(
    StoreUnusableError,
    "the server has no such database",
    "Create it, or name another in store.url",
)
_NO_RIGHTS = Fault(
    StoreUnusableError,
    "its user may not do that",
    "Make the user the owner of the database; docs/store.md has the rights that it needs",
)
_CONNECTIONS = Fault(
    StoreBusyError,
    "the server takes no more connections",
    "Lower store.max_connections, or raise the server's max_connections",
)


def _by_code(table: Mapping[Fault, str]) -> Mapping[str, Fault]:
    return {code: fault for fault, codes in table.items() for code in codes.split()}


#: By the code of SQLite, or its first word. The memory that processes share is a file that grows.
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

#: By the code of PostgreSQL, or the first two characters, which are its class:
#: https://www.postgresql.org/docs/current/errcodes-appendix.html
_POSTGRESQL = _by_code(
    {
        # Its tables have just changed (0A000); a statement took too long (57014).
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
def told() -> Iterator[None]:
    """Turn errors of the database into ours. What else is raised in the block stays as it is.

    Raises:
        StoreError: In place of theirs. It has their traceback, and not their message.
    """
    try:
        yield
    except Exception as error:
        ours = of(error)
        if ours is None:
            raise
        raise ours.with_traceback(error.__traceback__) from None


def of(error: Exception) -> StoreError | None:
    """Return our error for one of SQLAlchemy, a driver or the network; ``None`` for any other."""
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
    return fault.kind(f"{fault.problem} ({names})", fault.remedy)


def _is_of_database(error: Exception) -> bool:
    # A block of a transaction does nothing but talk to the database, so the network is that to it.
    drivers = (exc.DBAPIError, exc.DisconnectionError, sqlite3.Error, OSError, TimeoutError)
    return isinstance(error, drivers) or type(error).__module__.startswith("asyncpg.")


def _cause(error: BaseException) -> BaseException:
    """Return the error of the driver, which SQLAlchemy wraps once or twice."""
    inner = getattr(error, "orig", None) or error
    is_adapted = type(inner).__module__.startswith("sqlalchemy.")
    return inner.__cause__ or inner if is_adapted else inner


def _fault(error: BaseException) -> tuple[Fault, str]:
    """Return our error for an error of a driver, and its code there."""
    if code := getattr(error, "sqlite_errorname", None):
        code = str(code)
        name = code.removeprefix("SQLITE_")
        return _SQLITE.get(name) or _SQLITE.get(name.partition("_")[0], _UNKNOWN), code
    if code := getattr(error, "sqlstate", None):
        code = str(code)
        return _POSTGRESQL.get(code) or _POSTGRESQL.get(code[:2], _UNKNOWN), code
    return _without_code(error), ""


def _without_code(error: BaseException) -> Fault:
    """Return our error for an error of the network, or one that has no code."""
    name = type(error).__name__
    if isinstance(error, TimeoutError):
        return Fault(StoreUnavailableError, "it does not answer in time", _GONE.remedy)
    if isinstance(error, ssl.SSLCertVerificationError) or "rejected SSL upgrade" in str(error):
        return _NO_TRUST
    if name in ("ClientConfigurationError", "UnsupportedClientFeatureError"):
        return _NO_TRUST  # asyncpg's, of sslmode and its files
    if name == "DataError" or isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return _NO_SUCH_ROW  # a driver cannot write it down
    return _GONE
