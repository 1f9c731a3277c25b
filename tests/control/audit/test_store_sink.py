"""The trail in a database: kept whole, in order, never twice, whatever happens to the database."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.control.audit import event as event_module
from groundwire.control.audit import store_sink
from groundwire.control.audit.log import AuditLog
from groundwire.control.audit.store_sink import StoreSink
from groundwire.control.audit.verdict import TrailStatus, TrailVerdict
from groundwire.control.audit.verify_store import verify_store
from groundwire.control.store import Store, sqlite
from groundwire.control.store.errors import StoreUnavailableError
from groundwire.control.store.tables import audit_details, audit_records, audit_writers
from tests.control.audit.trails import KEY, PATIENCE_S, event, opened
from tests.postgres import Postgres

pytestmark = [pytest.mark.merge, pytest.mark.asyncio]


async def log_in(store: Store | str, *, patience_s: float = PATIENCE_S) -> AuditLog:
    """A log that writes to a store."""
    own = Store(store) if isinstance(store, str) else store
    return await opened(StoreSink(own, [KEY]), patience_s=patience_s)


async def numbers_in(url: str) -> list[int]:
    """The numbers of events, in the order they were written."""
    async with Store(url) as store, store.reading() as connection:
        found = await connection.execute(
            select(audit_records.c.trace_id)
            .where(audit_records.c.type.not_like("CHAIN_%"))
            .order_by(audit_records.c.writer, audit_records.c.seq)
        )
        return [int(trace_id) for (trace_id,) in found]


async def verdict_of(url: str) -> TrailVerdict:
    async with Store(url) as store:
        return await verify_store(store, [KEY])


async def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


# What is kept.


async def test_records_details_and_heads_are_kept_and_intact(store_url: str) -> None:
    log = await log_in(store_url)
    for number in range(300):
        await log.write(event(number, detail={"n": number} if number % 3 == 0 else None))
    assert await log.close() == 0
    assert await numbers_in(store_url) == list(range(300))
    async with Store(store_url) as store, store.reading() as connection:
        (row,) = (await connection.execute(select(audit_writers))).all()
        assert row.seq == 302
        assert row.ended_at >= row.started_at
        details = (await connection.execute(select(audit_details.c.detail))).all()
        assert len(details) == 100
    verdict = await verdict_of(store_url)
    assert (verdict.status, verdict.records, verdict.chains_open) == (TrailStatus.INTACT, 302, 0)


async def test_what_is_settled_is_in_the_database(store_url: str) -> None:
    log = await log_in(store_url)
    assert await log.settle([event(0), event(1, detail={})])
    assert await numbers_in(store_url) == [0, 1]
    verdict = await verdict_of(store_url)
    assert (verdict.status, verdict.chains_open) == (TrailStatus.INTACT, 1)
    await log.close()


async def test_each_start_names_the_ends_of_the_latest_others(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_sink, "MAX_NAMED", 2)
    for number in range(4):
        log = await log_in(store_url)
        await log.settle([event(number)])
        await log.close()
    async with Store(store_url) as store, store.reading() as connection:
        lines = await connection.scalars(
            select(audit_records.c.line).where(audit_records.c.seq == 1)
        )
        assert sorted(line.count('"mac"') for line in lines) == [0, 1, 2, 2]
    assert (await verdict_of(store_url)).status is TrailStatus.INTACT


async def test_a_head_that_somebody_changed_is_not_signed_by_the_next_start(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = await log_in(store_url)
    await log.settle([event(0)])
    await log.close()
    async with Store(store_url) as store, store.writing() as connection:
        await connection.execute(text("UPDATE audit_writers SET seq = 1"))
    await (await log_in(store_url)).close()
    assert "groundwire audit verify" in caplog.text
    assert (await verdict_of(store_url)).status is TrailStatus.TAMPERED


@pytest.mark.parametrize("change", ["ended_at = 'x'", "seq = 'x'", "mac = 7", "signature = x'00'"])
async def test_a_head_of_another_kind_does_not_stop_the_log(
    change: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:///{tmp_path / 'groundwire.db'}"
    await (await log_in(url)).close()
    with sqlite3.connect(tmp_path / "groundwire.db") as connection:
        connection.execute(f"UPDATE audit_writers SET {change}")
    connection.close()
    log = await log_in(url)
    assert await log.settle([event(0)])
    await log.close()
    assert await numbers_in(url) == [0]
    assert (await verdict_of(url)).status is TrailStatus.TAMPERED


OTHER = b"f" * 32


async def test_a_trail_of_other_keys_alone_gets_no_record_and_the_log_says_why(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    await (await log_in(store_url)).close()
    sink = StoreSink(Store(store_url), [OTHER], refuses_foreign=True)
    log = AuditLog(sink, key=OTHER, patience_s=0.2)
    await log.open()
    await eventually(lambda: log.is_failing)
    assert not await log.settle([event(0)])
    await log.close(timeout_s=0.1)
    assert "none of the keys here (audit.key) has signed any of the 1 chains" in caplog.text
    assert await numbers_in(store_url) == []
    assert (await verdict_of(store_url)).status is TrailStatus.INTACT


@pytest.mark.merge
async def test_several_logs_write_side_by_side(store_url: str) -> None:
    logs = [await log_in(store_url) for _ in range(3)]

    async def write(log: AuditLog, first: int) -> None:
        for number in range(first, first + 200, 2):
            assert await log.settle([event(number), event(number + 1)])

    writing = [write(log, 1000 * index) for index, log in enumerate(logs)]
    await asyncio.wait_for(asyncio.gather(*writing), 3 * PATIENCE_S)
    assert [await log.close() for log in logs] == [0, 0, 0]
    kept = await numbers_in(store_url)
    assert sorted(kept) == [1000 * index + n for index in range(3) for n in range(200)]
    verdict = await verdict_of(store_url)
    assert (verdict.status, verdict.chains, verdict.chains_open) == (TrailStatus.INTACT, 3, 0)


async def test_what_a_client_chose_does_not_keep_the_trail_from_being_written(
    store_url: str,
) -> None:
    log = await log_in(store_url)
    hostile = replace(event(0), trace_id="\0\ud800" + "é" * 500, tenant="\0" * 300)
    assert await log.settle([hostile])
    await log.close()
    assert (await verdict_of(store_url)).status is TrailStatus.INTACT


async def test_a_clock_that_goes_back_changes_nothing_but_moments(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock(datetime):
        """A clock that is put back an hour each time it is read."""

        hours = 0

        @classmethod
        def now(cls, tz: Any = None) -> "Clock":  # noqa: ANN401 - as datetime has it
            cls.hours -= 1
            return cls.fromtimestamp(time.time(), UTC) + timedelta(hours=cls.hours)

    monkeypatch.setattr(event_module, "datetime", Clock)
    log = await log_in(store_url)
    for number in range(5):
        await log.write(event(number))
    await log.close()
    monkeypatch.undo()
    assert await numbers_in(store_url) == list(range(5))
    verdict = await verdict_of(store_url)
    assert verdict.status is TrailStatus.INTACT


# Others who write.


async def test_a_record_that_somebody_wrote_in_our_place_is_not_taken_for_ours(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = await log_in(store_url, patience_s=0.2)
    await log.write(event(0))
    await eventually(lambda: "UNCHECKED_ENDPOINT" in log.stats.written)
    async with Store(store_url) as store:
        async with store.writing() as connection:
            names = ", ".join(column.name for column in audit_records.columns)
            copied = names.replace("seq", "seq + 1")
            await connection.execute(
                text(
                    f"INSERT INTO audit_records ({names}) SELECT {copied} FROM audit_records "
                    "WHERE seq = 2"
                )
            )
        assert not await log.settle([event(1)])
        assert log.is_failing
        assert "it is there already" in caplog.text
        async with store.writing() as connection:
            await connection.execute(text("DELETE FROM audit_records WHERE seq = 3"))
    await eventually(lambda: not log.is_failing)
    await log.close()
    assert await numbers_in(store_url) == [0, 1]
    assert (await verdict_of(store_url)).status is TrailStatus.INTACT


async def test_a_head_that_somebody_removed_is_put_back_by_its_writer(store_url: str) -> None:
    log = await log_in(store_url)
    assert await log.settle([event(0)])
    async with Store(store_url) as store, store.writing() as connection:
        await connection.execute(text("DELETE FROM audit_writers"))
    assert await log.settle([event(1)])
    await log.close()
    assert (await verdict_of(store_url)).status is TrailStatus.INTACT


# A database that fails.


class Forgetful(Store):
    """Keeps a transaction, and breaks off before it can say so."""

    n_forgotten = 0

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """As a connection that is lost while it commits."""
        async with super().writing() as connection:
            yield connection
        if self.n_forgotten < 3:
            self.n_forgotten += 1
            raise StoreUnavailableError("it broke the connection off")


async def test_what_was_kept_though_nobody_said_so_is_not_kept_twice(store_url: str) -> None:
    store = Forgetful(store_url)
    log = await log_in(store)
    for number in range(10):
        assert await log.settle([event(number, detail={"n": number})])
    assert await log.close() == 0
    assert store.n_forgotten == 3
    assert await numbers_in(store_url) == list(range(10))
    assert (await verdict_of(store_url)).status is TrailStatus.INTACT


class Limited(Store):
    """Has as many pages as it is told, as a disk that is full."""

    pages = 1_000_000_000

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """With the limit of now."""
        async with super().writing() as connection:
            await connection.execute(text(f"PRAGMA max_page_count={self.pages}"))
            yield connection


async def test_a_disk_that_is_full_keeps_events_waiting_and_loses_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:///{tmp_path / 'groundwire.db'}"
    store = Limited(url)
    log = await log_in(store, patience_s=0.1)
    await log.write(event(0))
    await eventually(lambda: "UNCHECKED_ENDPOINT" in log.stats.written)
    store.pages = 1
    large = {"text": "x" * 100_000}
    assert not await log.settle([event(1, detail=large)])
    assert log.is_failing
    assert not await log.settle([event(2)])
    assert "there is no room left to write" in caplog.text
    store.pages = 1_000_000_000
    await eventually(lambda: not log.is_failing)
    await log.write(event(3))
    await log.close()
    assert await numbers_in(url) == [0, 1, 2, 3]
    assert (await verdict_of(url)).status is TrailStatus.INTACT


async def test_a_file_that_another_program_holds_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_S", 0.05)
    path = tmp_path / "groundwire.db"
    log = await log_in(f"sqlite:///{path}", patience_s=0.2)
    await log.write(event(0))
    await eventually(lambda: "UNCHECKED_ENDPOINT" in log.stats.written)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert not await log.settle([event(1)])
    assert log.is_failing
    assert "others hold it" in caplog.text
    other.execute("ROLLBACK")
    other.close()
    await eventually(lambda: not log.is_failing)
    await log.write(event(2))
    await log.close()
    assert await numbers_in(f"sqlite:///{path}") == [0, 1, 2]
    assert (await verdict_of(f"sqlite:///{path}")).status is TrailStatus.INTACT


@pytest.mark.nightly
@pytest.mark.postgres
@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_a_database_that_goes_and_comes_back_loses_nothing_that_was_settled(
    mortal_postgres: Postgres, how: str
) -> None:
    url = mortal_postgres.url(mortal_postgres.make_database())
    log = await log_in(url, patience_s=1.0)
    settled, n_asked, is_over = list[int](), 0, False

    async def ask() -> None:
        nonlocal n_asked
        while not is_over:
            number, n_asked = n_asked, n_asked + 1
            if await log.settle([event(number)]):
                settled.append(number)
            await asyncio.sleep(0.001)

    asking = [asyncio.create_task(ask()) for _ in range(8)]
    await eventually(lambda: len(settled) > 50)
    await asyncio.to_thread(getattr(mortal_postgres, how))
    await eventually(lambda: log.is_failing)
    await asyncio.to_thread(mortal_postgres.start)
    before = len(settled)
    await eventually(lambda: len(settled) > before + 50)
    is_over = True
    await asyncio.gather(*asking)
    assert await log.close(timeout_s=PATIENCE_S) == 0
    kept = await numbers_in(url)
    assert sorted(kept) == list(range(n_asked))  # those that were not settled in time as well
    assert set(settled) <= set(kept)
    verdict = await verdict_of(url)
    assert (verdict.status, verdict.chains_open) == (TrailStatus.INTACT, 0)


@pytest.mark.nightly
@pytest.mark.postgres
async def test_a_database_that_is_away_at_the_start_gets_all_that_happened_meanwhile(
    mortal_postgres: Postgres,
) -> None:
    url = mortal_postgres.url(mortal_postgres.make_database())
    await asyncio.to_thread(mortal_postgres.stop)
    log = await log_in(url, patience_s=0.2)
    assert not await log.settle([event(0)])
    await log.write(event(1))
    assert log.is_failing
    await asyncio.to_thread(mortal_postgres.start)
    await eventually(lambda: not log.is_failing)
    assert await log.settle([event(2)])
    await log.close()
    assert await numbers_in(url) == [0, 1, 2]
    assert (await verdict_of(url)).status is TrailStatus.INTACT


async def test_a_database_that_never_comes_does_not_keep_the_log_from_closing(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "file"
    folder.write_text("no folder")
    log = await log_in(f"sqlite:///{folder}/groundwire.db", patience_s=0.1)
    assert not await log.settle([event(0)])
    assert await log.close(timeout_s=0.1) == 1
