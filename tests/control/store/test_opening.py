"""Waiting for a database that comes later than we do."""

import asyncio
from itertools import islice
from pathlib import Path

import pytest

from groundwire.control.store import Store, opening
from groundwire.control.store.errors import (
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
    StoreUnusableError,
)
from groundwire.control.store.opening import wait_until_open
from tests.control.store import rows
from tests.postgres import PATIENCE_S, Postgres


class Failing(Store):
    """A store that cannot be opened so many times, for such reasons."""

    def __init__(self, url: str, errors: list[StoreError]) -> None:
        super().__init__(url)
        self.errors, self.n_attempts = errors, 0

    async def open(self, *, migrates: bool = True) -> None:
        self.n_attempts += 1
        if self.errors:
            raise self.errors.pop(0)
        await super().open(migrates=migrates)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_FIRST_S", 0.001)
    monkeypatch.setattr(opening, "_LONGEST_S", 0.01)


@pytest.mark.asyncio
@pytest.mark.usefixtures("soon")
async def test_what_passes_is_tried_again_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gone, busy = StoreUnavailableError("it is gone"), StoreBusyError("others hold it")
    store = Failing(f"sqlite:///{tmp_path}/a.db", [gone, gone, gone, busy, busy])
    told: list[StoreError] = []
    await wait_until_open(store, on_failure=told.append)
    assert await rows.names(store) == []
    await store.close()
    assert told == [gone, gone, gone, busy, busy]
    assert [record.getMessage().partition("a.db ")[2] for record in caplog.records] == [
        "cannot be used yet, and is tried again: The store failed: it is gone.",
        "cannot be used yet, and is tried again: The store failed: others hold it.",
        "can be used now.",
    ]


@pytest.mark.asyncio
async def test_what_does_not_pass_is_not_tried_again(tmp_path: Path) -> None:
    store = Failing(f"sqlite:///{tmp_path}/a.db", [StoreUnusableError("it is none")])
    with pytest.raises(StoreUnusableError, match="it is none"):
        await wait_until_open(store)
    assert store.n_attempts == 1


def test_pauses_grow_up_to_a_few_seconds() -> None:
    pauses = list(islice(opening.pauses(), 12))
    assert 0.05 <= pauses[0] <= 0.1
    assert all(2.5 <= each <= 5 for each in pauses[-3:])


@pytest.mark.postgres
@pytest.mark.asyncio
async def test_a_server_that_starts_later_is_found(mortal_postgres: Postgres) -> None:
    server = mortal_postgres
    store = Store(server.url(server.make_database()))
    server.stop()
    failed = asyncio.Event()
    async with asyncio.timeout(PATIENCE_S):
        waiting = asyncio.create_task(wait_until_open(store, on_failure=lambda error: failed.set()))
        await failed.wait()
        server.start()
        await waiting
    assert await rows.names(store) == []
    await store.close()
