"""Turns errors of SQLAlchemy and the drivers into our errors.

Their messages may hold what was to be stored, and where: ours have the class and the code alone.
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

#: By the code of SQLite, or its first word.
_SQLITE: Mapping[str, Fault] = {
    "FULL": _FULL,
    "BUSY": _BUSY,
    "LOCKED": _BUSY,
    "PROTOCOL": _BUSY,
    "READONLY": _NO_ACCESS,
    "PERM": _NO_ACCESS,
    "AUTH": _NO_ACCESS,
    "CANTOPEN": _NO_ACCESS,
    "NOTADB": _DAMAGED,
    "CORRUPT": _DAMAGED,
    "IOERR_SHMSIZE": _FULL,  # the memory that processes share is a file that grows
    "IOERR": _FAILING,
    "NOMEM": _FAILING,
    "CONSTRAINT_UNIQUE": _THERE,
    "CONSTRAINT_PRIMARYKEY": _THERE,
    "CONSTRAINT_ROWID": _THERE,
    "CONSTRAINT_FOREIGNKEY": _DANGLING,
    "CONSTRAINT": _NO_SUCH_ROW,
    "MISMATCH": _NO_SUCH_ROW,
    "TOOBIG": _NO_SUCH_ROW,
    "ERROR": _OTHER_TABLES,
    "SCHEMA": _OTHER_TABLES,
}

#: By the code of PostgreSQL, or the first two characters, which are its class:
#: https://www.postgresql.org/docs/current/errcodes-appendix.html
_POSTGRESQL: Mapping[str, Fault] = {
    "08": _GONE,
    "0A000": _BUSY,  # its tables have just changed
    "22": _NO_SUCH_ROW,
    "23": _NO_SUCH_ROW,
    "23503": _DANGLING,
    "23505": _THERE,
    "25006": Fault(
        StoreUnavailableError, "it takes no writes", "It may be a standby: see to the server"
    ),
    "28": Fault(
        StoreUnusableError,
        "it does not let this user in",
        "See user and password in store.url, and the server's pg_hba.conf",
    ),
    "3D": Fault(
        StoreUnusableError,
        "the server has no such database",
        "Create it, or name another in store.url",
    ),
    "3F": _OTHER_TABLES,
    "40": _BUSY,
    "42": _OTHER_TABLES,
    "42501": Fault(
        StoreUnusableError,
        "its user may not do that",
        "Make the user the owner of the database; docs/store.md has the rights that it needs",
    ),
    "53": _FAILING,
    "53100": _FULL,
    "53300": Fault(
        StoreBusyError,
        "the server takes no more connections",
        "Lower store.max_connections, or raise the server's max_connections",
    ),
    "55P03": _BUSY,
    "57": _GONE,
    "57014": _BUSY,  # it took too long
    "58": _FAILING,
    "XX": _FAILING,
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
}


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
    """Our error for one of SQLAlchemy, a driver or the network; ``None`` for any other."""
    if isinstance(error, exc.TimeoutError):
        return StoreBusyError(
            "all connections of this process are in use",
            "Try again, or raise store.max_connections",
        )
    if not _is_of_database(error):
        return None
    cause = _cause(error)
    fault, code = _fault(cause)
    name = type(cause).__name__
    told = f"{name}, {code}" if code else name
    return fault.kind(f"{fault.problem} ({told})", fault.remedy)


def _is_of_database(error: Exception) -> bool:
    # A block of a transaction does nothing but talk to the database, so the network is that to it.
    drivers = (exc.DBAPIError, exc.DisconnectionError, sqlite3.Error, OSError, TimeoutError)
    return isinstance(error, drivers) or type(error).__module__.startswith("asyncpg.")


def _cause(error: BaseException) -> BaseException:
    """Return the error of the driver, which SQLAlchemy wraps once or twice."""
    inner = getattr(error, "orig", None) or error
    return inner.__cause__ or inner if _is_adapted(inner) else inner


def _is_adapted(error: BaseException) -> bool:
    return type(error).__module__.startswith("sqlalchemy.")


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
