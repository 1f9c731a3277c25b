"""Turns errors of SQLAlchemy and of database drivers into errors of the store.

Messages of SQLAlchemy and of drivers may contain addresses, and data of the transaction. So the
messages of the store quote only the class and the code of the original error.
"""

import sqlite3
import ssl
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from typing import Any

from sqlalchemy import exc

from groundwire.control.store import errors

#: Name of a fault → its kind, problem, remedy, and the codes of errors that mean it.
_FAULTS: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    resources.files(__package__).joinpath("faults.toml").read_text("utf-8")
)
_KINDS = {
    "busy": errors.StoreBusyError,
    "full": errors.StoreFullError,
    "unavailable": errors.StoreUnavailableError,
    "unusable": errors.StoreUnusableError,
}


def _by_code(database: str) -> Mapping[str, str]:
    """Return error code → name of the fault, for ``sqlite`` or ``postgresql``."""
    return {code: name for name, own in _FAULTS.items() for code in own.get(database, ())}


_SQLITE, _POSTGRESQL = _by_code("sqlite"), _by_code("postgresql")


@contextmanager
def as_store_errors() -> Iterator[None]:
    """Turn errors of the database inside the ``with`` block into errors of the store.

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


def of(error: Exception) -> errors.StoreError | None:
    """Return the store's error for an error of a driver, SQLAlchemy's pool, the network or a file.

    For any other error, return ``None``.
    """
    if isinstance(error, exc.TimeoutError):
        return _error("no_free_connection")
    if not _is_of_database(error):
        return None
    cause = _cause(error)
    fault, code = _fault(cause)
    names = ", ".join(filter(None, (type(cause).__name__, code)))
    return _error(fault, f" ({names})")


def _error(fault: str, names: str = "") -> errors.StoreError:
    own = _FAULTS[fault]
    kind = _KINDS.get(own.get("kind", ""), errors.StoreError)
    return kind(own["problem"] + names, own.get("remedy", ""))


def _is_of_database(error: Exception) -> bool:
    # A transaction only talks to the database, so errors of the network and of files come from the
    # database, too.
    drivers = (exc.DBAPIError, exc.DisconnectionError, sqlite3.Error, OSError, TimeoutError)
    return isinstance(error, drivers) or type(error).__module__.startswith("asyncpg.")


def _cause(error: BaseException) -> BaseException:
    """Return the driver's error that SQLAlchemy has wrapped, once or twice.

    If SQLAlchemy has not wrapped the error, return the error itself.
    """
    inner = getattr(error, "orig", None) or error
    is_adapted = type(inner).__module__.startswith("sqlalchemy.")
    return inner.__cause__ or inner if is_adapted else inner


def _fault(error: BaseException) -> tuple[str, str]:
    """Return the name of the fault for a driver's error, and the error's code or an empty text."""
    if code := getattr(error, "sqlite_errorname", None):
        code = str(code)
        name = code.removeprefix("SQLITE_")
        return _SQLITE.get(name) or _SQLITE.get(name.partition("_")[0], "unknown"), code
    if code := getattr(error, "sqlstate", None):
        code = str(code)
        return _POSTGRESQL.get(code) or _POSTGRESQL.get(code[:2], "unknown"), code
    return _without_code(error), ""


def _without_code(error: BaseException) -> str:
    """Return the name of the fault for an error without a code, such as one of the network."""
    name = type(error).__name__
    if isinstance(error, TimeoutError):
        return "late"
    if isinstance(error, ssl.SSLCertVerificationError) or "rejected SSL upgrade" in str(error):
        return "no_trust"
    if name in ("ClientConfigurationError", "UnsupportedClientFeatureError"):
        return "no_trust"  # asyncpg's errors for settings, mostly of TLS
    if name == "DataError" or isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return "no_such_row"  # the driver cannot encode a value of the row
    return "gone"
