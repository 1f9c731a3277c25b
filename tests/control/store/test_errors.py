"""What is said about errors of databases: the class and the code, and nothing that was stored."""

import pickle
import sqlite3

import pytest
from sqlalchemy import exc

from groundwire.control.store import Store, faults, tables
from groundwire.control.store.errors import (
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    StoreUnusableError,
)
from tests.control.store.rows import NOON


def sqlite_error(name: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("hunter2")
    error.sqlite_errorname = name
    return error


class PostgresError(Exception):
    """As asyncpg's are: each has its code."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__("hunter2")
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("SQLITE_BUSY_SNAPSHOT", StoreBusyError),
        ("SQLITE_LOCKED_SHAREDCACHE", StoreBusyError),
        ("SQLITE_FULL", StoreFullError),
        ("SQLITE_READONLY_DIRECTORY", StoreUnusableError),
        ("SQLITE_CORRUPT_INDEX", StoreUnusableError),
        ("SQLITE_IOERR_SHMSIZE", StoreFullError),
        ("SQLITE_IOERR_WRITE", StoreUnavailableError),
        ("SQLITE_WHATEVER", StoreError),
    ],
)
def test_a_code_of_sqlite_is_known_by_its_first_word(name: str, kind: type[StoreError]) -> None:
    error = faults.of(exc.OperationalError("INSERT hunter2", None, sqlite_error(name)))
    assert type(error) is kind
    assert str(error).endswith(".")
    assert f"(OperationalError, {name})" in str(error)
    assert "hunter2" not in f"{error}{error!r}"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("08006", StoreUnavailableError),
        ("40P01", StoreBusyError),
        ("53100", StoreFullError),
        ("53200", StoreUnavailableError),
        ("57P03", StoreUnavailableError),
        ("42P07", StoreUnusableError),
        ("22021", StoreError),
        ("XX001", StoreUnusableError),
        ("2BP01", StoreError),
    ],
)
def test_a_code_of_postgresql_is_known_by_its_class(code: str, kind: type[StoreError]) -> None:
    error = faults.of(exc.DBAPIError("INSERT hunter2", None, PostgresError(code)))
    assert type(error) is kind
    assert f"(PostgresError, {code})" in str(error)
    assert "hunter2" not in f"{error}{error!r}"


@pytest.mark.postgres
@pytest.mark.asyncio
@pytest.mark.parametrize("row", [{"name": "hunter2\0"}, {"version": 2**40}])
async def test_what_postgresql_cannot_hold_is_no_fault_that_passes(
    postgres_url: str, row: dict[str, object]
) -> None:
    values = {"id": "a", "metadata": {}, "policy": {}, "created_at": NOON, "updated_at": NOON}
    async with Store(postgres_url) as store:
        with pytest.raises(StoreError, match="it takes no such row") as raised:
            async with store.writing() as connection:
                await connection.execute(
                    tables.tenants.insert().values(values | {"version": 1} | row)
                )
    assert not raised.value.is_passing
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("error", [OSError(111, "hunter2"), TimeoutError("hunter2")])
def test_the_network_is_the_database_s(error: Exception) -> None:
    ours = faults.of(error)
    assert type(ours) is StoreUnavailableError
    assert "hunter2" not in str(ours)


@pytest.mark.parametrize("error", [ValueError("a"), exc.InvalidRequestError("a"), KeyError("a")])
def test_a_mistake_of_ours_is_no_error_of_a_database(error: Exception) -> None:
    assert faults.of(error) is None


def test_an_error_can_be_sent_to_another_process() -> None:
    error = pickle.loads(pickle.dumps(StoreFullError("it is full", "Make room")))
    assert type(error) is StoreFullError
    assert str(error) == "The store failed: it is full. Make room."
    assert str(StoreError("it is odd")) == "The store failed: it is odd."
