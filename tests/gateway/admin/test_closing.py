"""The end of the control plane has a bound, and what it could not write is counted."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from groundwire.control import logins
from groundwire.control.store import sqlite as sqlite_files
from groundwire.gateway import control
from groundwire.gateway.control import ControlPlane
from tests.gateway.admin.plane import config_of

pytestmark = pytest.mark.asyncio

#: Tests that hang fail after so many seconds.
PATIENCE_S = 30.0

ADDRESSES = ("10.0.0.1", "10.0.0.2", "10.0.0.3")


async def begun(folder: Path) -> ControlPlane:
    """One on a file of SQLite, with three places in its queue, all of them free."""
    short = {"GROUNDWIRE_GATEWAY_SHUTDOWN_S": "1"}
    own = ControlPlane(config_of(folder, "audit: {queue_size: 3}", environ=short))
    await own.begin()
    await asyncio.wait_for(own.wait_until_open(), PATIENCE_S)
    await eventually(lambda: own.audit.stats.depth == 0)
    return own


async def eventually(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            await asyncio.sleep(0.001)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another program holds is waited for 0.1 s, and not 5."""
    monkeypatch.setattr(sqlite_files, "BUSY_S", 0.1)


@asynccontextmanager
async def locked(folder: Path) -> AsyncIterator[None]:
    """Another program holds the file until the block ends."""
    connection = sqlite3.connect(folder / "groundwire.db", timeout=0, isolation_level=None)
    async with asyncio.timeout(PATIENCE_S):
        while not connection.in_transaction:
            # Whoever writes at this moment needs the event loop to end.
            with suppress(sqlite3.OperationalError):
                connection.execute("BEGIN IMMEDIATE")
            await asyncio.sleep(0.001)
    try:
        yield
    finally:
        connection.rollback()
        connection.close()


def fail_logins(own: ControlPlane) -> None:
    """Three from each address: the first of each is told at once, and takes a place."""
    for address in ADDRESSES:
        for _ in range(3):
            own.note_failed_login(address, trace_id="")


@pytest.mark.merge  # it waits a second
async def test_failed_logins_that_find_no_place_do_not_keep_it_from_ending(tmp_path: Path) -> None:
    own = await begun(tmp_path)
    async with locked(tmp_path):
        fail_logins(own)
        await asyncio.wait_for(own.close(), PATIENCE_S)
    assert own.audit.stats.n_lost == 6
    assert own.audit.stats.depth == 0


@pytest.mark.merge  # it waits a second
async def test_failed_logins_that_count_as_told_are_written_or_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "_TELLING_S", 0.001)
    monkeypatch.setattr(logins, "FAILURE_S", 0.0)
    own = await begun(tmp_path)
    async with locked(tmp_path):
        fail_logins(own)
        await eventually(lambda: own.audit.stats.depth > 3)
        await asyncio.wait_for(own.close(), PATIENCE_S)
    assert own.audit.stats.n_lost == 6


async def test_failed_logins_that_were_not_told_are_told_at_the_end(tmp_path: Path) -> None:
    own = await begun(tmp_path)
    fail_logins(own)
    await asyncio.wait_for(own.close(), PATIENCE_S)
    told = recorded_of(tmp_path)
    assert sorted(told) == sorted([(address, n) for address in ADDRESSES for n in (1, 2)])


def recorded_of(folder: Path) -> list[tuple[str, int]]:
    """Of each event about failed logins: from where, and how many."""
    with sqlite3.connect(folder / "groundwire.db") as connection:
        lines = connection.execute(
            "SELECT json_extract(line, '$.payload.address'), json_extract(line, '$.payload.count') "
            "FROM audit_records WHERE type = 'ADMIN_LOGIN_FAILED'"
        ).fetchall()
    connection.close()
    return [(str(address), int(n)) for address, n in lines]
