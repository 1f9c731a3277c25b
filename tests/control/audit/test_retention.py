"""What is older than it is to be kept goes, nothing else does, and the trail stays intact."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, text

from groundwire.control.audit import retention as module
from groundwire.control.audit.event import AuditEvent, EventType
from groundwire.control.audit.log import AuditLog
from groundwire.control.audit.retention import Retention, RetentionError
from groundwire.control.audit.store_sink import StoreSink
from groundwire.control.audit.trail import Filter, Trail
from groundwire.control.audit.verdict import TrailStatus
from groundwire.control.audit.verify_store import verify_store
from groundwire.control.store import Store, moments
from groundwire.control.store.tables import audit_details, audit_records, audit_writers
from tests.control.audit.filled import KEY, Written, at, made
from tests.tiers import costly

pytestmark = pytest.mark.merge

DAY = 86_400
DETAIL = {"version": 1}
Opened = Callable[[], Any]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_S", 0)


@pytest.fixture
def opened(store_url: str) -> Opened:
    """Opens an empty store."""

    @asynccontextmanager
    async def open_() -> AsyncIterator[Store]:
        async with Store(store_url) as store:
            yield store

    return open_


async def pruned(
    store: Store,
    by: Written,
    days: float,
    *,
    retention: float | None = 30,
    details: float | None = None,
) -> Counter[str]:
    """Prune on a day, and see that the trail is intact."""
    by.now = days * DAY
    done = await Retention(
        store, by.settle, retention_days=retention, detail_days=details, keys=[KEY]
    ).prune(at(by.now))
    assert await status(store) == []
    return done


async def status(store: Store) -> list[str]:
    """What is wrong with a trail."""
    verdict = await verify_store(store, [KEY])
    assert (verdict.status is TrailStatus.INTACT) is (not verdict.findings)
    return [finding.text for finding in verdict.findings]


async def left(store: Store, writer: str) -> list[int]:
    """The records of a chain that are left."""
    async with store.reading() as connection:
        own = select(audit_records.c.seq).where(audit_records.c.writer == writer)
        return list(await connection.scalars(own.order_by(audit_records.c.seq)))


async def details(store: Store) -> int:
    async with store.reading() as connection:
        return await connection.scalar(select(func.count()).select_from(audit_details)) or 0


async def days_of(chain: Written, *days: float, detail: bool = False) -> None:
    """Events on days."""
    own = DETAIL if detail else None
    await chain.add(*(made(day * DAY, detail=own) for day in days))


@pytest.mark.asyncio
async def test_a_removal_also_gives_postgresql_statistics_of_the_trail(opened: Opened) -> None:
    async with opened() as store:
        chain = Written(store)
        await chain.start(0)
        await days_of(chain, 39, 39.5)
        await pruned(store, chain, 40)
        if not store.is_sqlite:
            async with store.reading() as connection:
                query = text("SELECT reltuples FROM pg_class WHERE relname = 'audit_records'")
                assert await connection.scalar(query) == len(await left(store, chain.writer))


# What goes.


@pytest.mark.asyncio
async def test_the_beginning_of_a_chain_goes_up_to_the_first_record_that_is_kept(
    opened: Opened,
) -> None:
    async with opened() as store:
        chain = Written(store)
        await chain.start(0)
        await days_of(chain, 1, 2, 10, 11)
        done = await pruned(store, chain, 35)
        assert (done["audit_records"], await left(store, chain.writer)) == (3, [4, 5, 6])
        assert (await pruned(store, chain, 40.5))["audit_records"] == 1
        (said, *_) = (await Trail(store).page(Filter(types=(EventType.RETENTION_APPLIED,)))).events
        assert said.event["payload"]["removed"][0]["writer"] == chain.writer
        assert said.event["payload"]["removed"][0]["seq"] == 4


@pytest.mark.asyncio
async def test_what_is_older_after_what_is_kept_stays(opened: Opened) -> None:
    async with opened() as store:
        chain = Written(store)
        await chain.start(0)
        await days_of(chain, 10, 1, 2, 11)  # the clock went back
        assert (await pruned(store, chain, 35))["audit_records"] == 1
        assert await left(store, chain.writer) == [2, 3, 4, 5, 6]


@pytest.mark.asyncio
async def test_the_newest_record_of_a_chain_without_end_stays(opened: Opened) -> None:
    async with opened() as store:
        killed, idle, by = Written(store), Written(store), Written(store)
        await killed.start(0)
        await days_of(killed, 1, 2)
        await idle.start(3 * DAY)
        await by.start(4 * DAY)
        await pruned(store, by, 100)
        assert await left(store, killed.writer) == [3]
        assert await left(store, idle.writer) == [1]
        await days_of(idle, 101)
        await pruned(store, by, 102)
        assert await left(store, idle.writer) == [2]


@pytest.mark.asyncio
async def test_a_chain_that_ended_goes_as_a_whole(opened: Opened) -> None:
    async with opened() as store:
        one, by = Written(store), Written(store)
        await one.start(0)
        await days_of(one, 1, 2, detail=True)
        await one.end(3 * DAY)
        await by.start(4 * DAY)
        done = await pruned(store, by, 33.5)
        assert (done["audit_records"], done["audit_details"]) == (4, 2)
        assert await left(store, one.writer) == []
        assert await details(store) == 0


@pytest.mark.asyncio
async def test_details_go_sooner_than_their_records(opened: Opened) -> None:
    async with opened() as store:
        chain = Written(store)
        await chain.start(0)
        await days_of(chain, 1, 2, 6, 7, detail=True)
        done = await pruned(store, chain, 10, details=5)
        assert (done["audit_records"], done["audit_details"], await details(store)) == (0, 2, 2)
        assert (await pruned(store, chain, 10, retention=None, details=0))["audit_details"] == 2
        assert await left(store, chain.writer) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.asyncio
async def test_where_nothing_is_old_nothing_is_said(opened: Opened) -> None:
    async with opened() as store:
        chain = Written(store)
        await chain.start(0)
        await days_of(chain, 1, detail=True)
        assert (await pruned(store, chain, 5, details=10))["audit_records"] == 0
        assert (await pruned(store, chain, 500, retention=None))["audit_details"] == 0
        assert await left(store, chain.writer) == [1, 2]


@pytest.mark.asyncio
async def test_of_many_all_go_in_pieces(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 7)
    async with opened() as store:
        one, by = Written(store), Written(store)
        await one.start(0)
        await days_of(one, *[1] * 50, *[2] * 20, detail=True)
        await one.end(3 * DAY)
        await by.start(4 * DAY)
        assert (await pruned(store, by, 32.5, retention=None, details=30.6))["audit_details"] == 50
        done = await pruned(store, by, 40)
        assert (done["audit_records"], done["audit_details"]) == (
            73,
            20,
        )  # one is the start of the other


# What was said is said again for as long as something refers to it.


@dataclass
class World:
    """Processes over time, of which some are killed, and one retention for all."""

    store: Store
    seconds: float = 0.0
    live: list[Written] = field(default_factory=list)
    kept: dict[tuple[str, int], int] = field(default_factory=dict)

    async def step(self, what: str, which: int, days: float) -> None:
        """Something happens, some days later, or a little earlier if the clock goes back."""
        self.seconds = max(self.seconds + days * DAY, 0)
        if what == "start" or not self.live:
            chain = Written(self.store)
            self.live.append(chain)
            self._note(await chain.start(self.seconds))
            return
        chain = self.live[which % len(self.live)]
        if what == "write":
            for record in await chain.add(made(self.seconds, detail=DETAIL if which % 2 else None)):
                self._note(record)
        elif what == "end":
            self.live.remove(chain)
            self._note(await chain.end(self.seconds))
        elif what == "kill":
            self.live.remove(chain)
        else:
            await self._prune(chain, details=None if what == "prune" else 3)

    async def _prune(self, by: Written, *, details: float | None) -> None:
        days = self.seconds / DAY
        await pruned(self.store, by, days, retention=10, details=details)
        now, said = moments.of_datetime(at(self.seconds)), EventType.RETENTION_APPLIED
        before = now - 10 * DAY * 1_000_000
        async with self.store.reading() as connection:
            columns = audit_records.c
            own = select(columns.writer, columns.seq, columns.moment, columns.type)
            found = (await connection.execute(own.order_by(columns.writer, columns.seq))).all()
        there = {(row.writer, row.seq) for row in found}
        young = {key for key, moment in self.kept.items() if moment >= before}
        assert young <= there, "what is to be kept is gone"
        self.kept = {key: moment for key, moment in self.kept.items() if key in there}
        for _, rows in groupby(found, key=lambda row: row.writer):
            first, *others = rows
            # What was said just now was not there yet.
            others = [row for row in others if row.moment < now or row.type != said]
            is_newest = not others and first.type != EventType.CHAIN_ENDED
            assert first.moment >= before or is_newest, "what could go is there"

    def _note(self, record: Any) -> None:  # noqa: ANN401
        self.kept[record.writer, record.seq] = record.moment


steps = st.lists(
    st.tuples(
        st.sampled_from(["start", "write", "write", "end", "kill", "prune", "prune", "prune all"]),
        st.integers(0, 7),
        st.sampled_from([0, 0.1, 1, 5, 12, 40, -2]),
    ),
    min_size=5,
    max_size=30,
)


@pytest.fixture
def lived(store_url: str) -> Iterator[Callable[[Any], None]]:
    """Runs a life of a trail; each begins with an empty one."""
    store = Store(store_url)

    async def live(drawn: Sequence[tuple[str, int, float]]) -> None:
        async with store.writing() as connection:
            for table in (audit_records, audit_details, audit_writers):
                await connection.execute(table.delete())
        world = World(store)
        for what, which, days in drawn:
            await world.step(what, which, days)
        await world.step("prune", 0, 0)

    with asyncio.Runner() as runner:
        runner.run(store.open())
        yield lambda drawn: runner.run(live(drawn))
        runner.run(store.close())


@pytest.mark.nightly
@settings(costly(0.4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_a_trail_is_intact_whatever_ends_is_killed_and_goes(
    lived: Callable[[Any], None], drawn: list[tuple[str, int, float]]
) -> None:
    lived(drawn)


@pytest.mark.merge
def test_a_process_that_crashes_at_each_start_leaves_an_intact_trail(
    lived: Callable[[Any], None],
) -> None:
    # Each leaves one record, which stays and names the one before.
    crashes = [("start", 0, 0.1), ("write", 0, 0), ("start", 0, 1), ("kill", 1, 0)]
    lived([*crashes * 10, ("end", 0, 0), ("start", 0, 20), *[("prune", 0, 12.0)] * 4])


@pytest.mark.asyncio
async def test_rows_of_chains_do_not_pile_up(opened: Opened) -> None:
    async with opened() as store:
        by = Written(store)
        for number in range(6):
            by = Written(store)
            await by.start(number * 20 * DAY)
            await days_of(by, number * 20 + 1)
            await pruned(store, by, number * 20 + 2)
            await by.end(number * 20 * DAY + 3 * DAY)
        by = Written(store)
        await by.start(119 * DAY)
        await pruned(store, by, 120)
        async with store.reading() as connection:
            n_rows = await connection.scalar(select(func.count()).select_from(audit_writers))
        assert n_rows == 3  # its own, the one of day 100, and the one that this one names


# What is not as it was written.


@pytest.mark.asyncio
@pytest.mark.parametrize("change", ["moment = 0", "line = replace(line, 'acme', 'none')"])
async def test_a_chain_loses_nothing_if_its_last_old_record_was_changed(
    change: str, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened() as store:
        chain, by = Written(store), Written(store)
        await chain.start(0)
        await days_of(chain, 1, 20 if change == "moment = 0" else 2, 21, 22)
        async with store.writing() as connection:
            await connection.execute(text(f"UPDATE audit_records SET {change} WHERE seq = 3"))
        await by.start(25 * DAY)
        wrong, by.now = await status(store), 35 * DAY
        done = await Retention(
            store, by.settle, retention_days=30, detail_days=None, keys=[KEY]
        ).prune(at(by.now))
        assert not done.total()
        assert await left(store, chain.writer) == [1, 2, 3, 4, 5]
        assert wrong
        assert await status(store) == wrong
        assert "1 chains of the audit trail are not as they were written" in caplog.text


@pytest.mark.asyncio
async def test_a_beginning_that_somebody_removed_stays_missing(opened: Opened) -> None:
    async with opened() as store:
        old, chain = Written(store), Written(store)
        await old.start(0)
        await days_of(old, 1, 2, 60)
        await chain.start(50 * DAY)
        await days_of(chain, 51, 52)
        async with store.writing() as connection:
            own = audit_records.delete().where(audit_records.c.writer == chain.writer)
            await connection.execute(own.where(audit_records.c.seq == 1))
        chain.now = 80 * DAY
        done = await Retention(
            store, chain.settle, retention_days=30, detail_days=None, keys=[KEY]
        ).prune(at(chain.now))
        assert done["audit_records"] == 3
        assert any("record 1 missing" in each for each in await status(store))


# What goes wrong.


class Refusing:
    """An audit log that cannot be written."""

    async def settle(self, events: Sequence[AuditEvent]) -> bool:
        return False


@pytest.mark.asyncio
async def test_nothing_goes_that_could_not_be_announced(opened: Opened) -> None:
    async with opened() as store:
        chain = Written(store)
        await chain.start(0)
        await days_of(chain, 1, 2, detail=True)
        with pytest.raises(RetentionError):
            await Retention(
                store, Refusing().settle, retention_days=30, detail_days=1, keys=[KEY]
            ).prune(at(90 * DAY))
        assert await left(store, chain.writer) == [1, 2, 3]
        assert await details(store) == 2


@pytest.mark.asyncio
@pytest.mark.parametrize("n_pieces", [2, 9])
async def test_who_is_interrupted_leaves_an_intact_trail_and_the_rest(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, n_pieces: int
) -> None:
    monkeypatch.setattr(module, "BATCH", 4)
    async with opened() as store:
        chain = Written(store)
        await chain.start(0)
        await days_of(chain, *[1] * 20, detail=True)
        chain.now, remove, n_left = 60 * DAY, Store.writing, n_pieces

        @asynccontextmanager
        async def interrupted(self: Store) -> AsyncIterator[Any]:
            nonlocal n_left
            if self is store and chain.chain.head.seq > 21:
                n_left -= 1
                if n_left < 0:
                    raise asyncio.CancelledError
            async with remove(self) as connection:
                yield connection

        with monkeypatch.context() as patch:
            patch.setattr(Store, "writing", interrupted)
            with pytest.raises(asyncio.CancelledError):
                await pruned(store, chain, 60)
        assert await status(store) == []
        await pruned(store, chain, 61)
        assert (await left(store, chain.writer))[0] == 22
        assert await details(store) == 0


@pytest.mark.asyncio
async def test_the_hourly_task_prunes_through_the_audit_log(opened: Opened, store_url: str) -> None:
    async with opened() as store:
        old = Written(store)
        await old.start(0)
        await days_of(old, 1, 2, 3, detail=True)
        audit = AuditLog(StoreSink(Store(store_url), [KEY]), key=KEY)
        await audit.open()
        retention = Retention(
            store, audit.settle, retention_days=1, detail_days=1, keys=[KEY], every_s=0.01
        )
        await retention.open()
        async with asyncio.timeout(30):
            while len(await left(store, old.writer)) > 1:
                await asyncio.sleep(0.01)
        await retention.close()
        assert await audit.close() == 0
        assert await left(store, old.writer) == [4]
        assert await details(store) == 0
        assert await status(store) == []


@pytest.mark.merge
@pytest.mark.asyncio
async def test_who_writes_meanwhile_is_not_kept_waiting(opened: Opened, store_url: str) -> None:
    async with opened() as store:
        old = Written(store)
        await old.start(0)
        await days_of(old, *[1] * 5000)
        audit = AuditLog(StoreSink(Store(store_url), [KEY]), key=KEY)
        await audit.open()
        done = asyncio.create_task(
            Retention(store, audit.settle, retention_days=30, detail_days=1, keys=[KEY]).prune(
                at(90 * DAY)
            )
        )
        n_settled = 0
        while not done.done():
            assert await audit.settle([made(n_settled)])  # within its patience, or it is false
            n_settled += 1
        assert (await done)["audit_records"] == 5000
        assert n_settled > 1  # a piece has 1,000, and others are let in between two of them
        assert await audit.close() == 0
        assert await status(store) == []


@pytest.mark.asyncio
async def test_a_failure_is_logged_and_tried_again(
    opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened() as store:
        chain = Written(store)
        await chain.start(0)
        await days_of(chain, 1, 2)
        failing = Retention(
            store, Refusing().settle, retention_days=1, detail_days=None, keys=[KEY], every_s=0.01
        )
        await failing.open()
        async with asyncio.timeout(30):
            while caplog.text.count("The audit trail cannot be pruned: RetentionError") < 2:
                await asyncio.sleep(0.01)
        await failing.close()
        assert await left(store, chain.writer) == [1, 2, 3]


@pytest.mark.asyncio
async def test_without_an_end_nothing_runs(opened: Opened) -> None:
    async with opened() as store:
        retention = Retention(
            store, Refusing().settle, retention_days=None, detail_days=None, keys=[KEY]
        )
        before = len(asyncio.all_tasks())
        await retention.open()
        assert len(asyncio.all_tasks()) == before
        await retention.close()
