"""Counts of answers in the store: those of several processes add up, and none is lost."""

import asyncio
import time
from pathlib import Path

import pytest
from sqlalchemy import select

from groundwire.control.activity import DAY_S, SLOT_S, Activity
from groundwire.control.audit.quoted import Keeping, Quotes
from groundwire.control.store import Store, StoreError
from groundwire.control.store.tables import activity as table
from tests.control.tenants.conftest import migrated_file, store, store_url
from tests.gateway.answers import checked, unverified

__all__ = ["migrated_file", "store", "store_url"]

pytestmark = pytest.mark.asyncio


async def test_counts_of_two_processes_add_up_by_tenant_model_outcome_and_action(
    store: Store,
) -> None:
    one, other = Activity(store), Activity(store)
    one.answered(checked() + unverified(), model="a")
    other.answered(checked(), model="a")
    other.answered(checked(), model="b")
    await one.write()
    await other.write()
    await other.write()  # once more adds nothing
    counts = await one.totals(0)
    assert {(x.tenant, x.model, x.outcome, x.action): x.n for x in counts} == {
        ("acme", "a", "hallucinated", "header"): 2,
        ("acme", "a", "unverified", "header"): 1,
        ("acme", "b", "hallucinated", "header"): 1,
    }
    assert {each.start for each in counts} == {0}
    trend = await one.trend(0, step_s=SLOT_S, only={"tenant": "acme", "model": "b", "action": ""})
    ((start, n),) = ((each.start, each.n) for each in trend)
    assert n == 1
    assert 0 <= time.time() - start < 2 * SLOT_S
    assert await one.totals(2**40) == ()


async def test_times_give_median_and_99th_percentile_to_an_eighth(store: Store) -> None:
    activity = Activity(store)
    for ms in range(1, 101):
        activity.took("read", ms)
    activity.took("gate", 0.0)
    await activity.write()
    gate, read = await activity.times(0)
    assert (gate.stage, gate.n, read.n) == ("gate", 1, 100)
    assert read.p50_ms == pytest.approx(50, rel=0.125)
    assert read.p99_ms == pytest.approx(99, rel=0.125)


async def test_old_counts_are_added_up_to_longer_stretches_and_none_is_lost(store: Store) -> None:
    own = {"tenant": "acme", "model": "a", "outcome": "grounded", "action": "none", "n": 1}
    this_hour = int(time.time()) // SLOT_S * SLOT_S
    ages = range(0, 12 * DAY_S, SLOT_S)
    async with store.writing() as connection:
        await connection.execute(table.insert(), [{**own, "slot": this_hour - x} for x in ages])
    one, other = Activity(store), Activity(store)
    for each in (one, other):
        each.answered(checked(), model="a")
        await each.write()
    async with store.reading() as connection:
        slots = [*await connection.scalars(select(table.c.slot).order_by(table.c.slot))]
    assert 50 < len(slots) < 70  # about 26 hours, 27 stretches of 6 hours, and 5 days
    assert all(x % DAY_S == 0 for x in slots if x < this_hour - 8 * DAY_S)
    counts = await one.totals(0)
    assert {each.outcome: each.n for each in counts} == {"grounded": 12 * 24, "hallucinated": 2}
    since = this_hour // DAY_S * DAY_S - 11 * DAY_S
    kept = await one.outcomes("acme", since=since, until=since + DAY_S)
    assert kept == {"grounded": 24}


async def test_old_counts_go_although_nothing_new_comes(store: Store) -> None:
    own = {"tenant": "acme", "model": "a", "outcome": "grounded", "action": "none", "n": 1}
    async with store.writing() as connection:
        await connection.execute(table.insert(), [{**own, "slot": 0}])
    await Activity(store).write()
    async with store.reading() as connection:
        assert (await connection.scalars(select(table.c.slot))).all() == []


async def test_clients_cannot_make_models_without_end(store: Store) -> None:
    activity, answers = Activity(store), checked()
    for n in range(300):
        activity.answered(answers, model=f"model {n}")
    await activity.write()
    totals = await activity.totals(0)
    assert len(totals) == 101
    assert max(totals, key=lambda each: each.n).model == "(other)"
    assert sum(each.n for each in totals) == 300


async def test_counts_wait_while_the_database_is_away(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'a.db'}")
    activity = Activity(store)
    activity.answered(checked(), model="a")
    with pytest.raises(StoreError):
        await activity.write()
    async with store:
        await activity.write()
        assert [each.n for each in await activity.totals(0)] == [1]


async def test_counts_are_not_lost_if_a_write_is_cancelled(store: Store) -> None:
    activity = Activity(store)
    activity.answered(checked(), model="a")
    writing = asyncio.create_task(activity.write())
    await asyncio.sleep(0)  # it has begun, and waits for the database
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await activity.write()
    assert [each.n for each in await activity.totals(0)] == [1]


async def test_a_name_of_a_model_that_no_database_stores_is_counted(store: Store) -> None:
    name = Quotes(Keeping(), max_chars=0).name("half \ud83d\0")
    activity = Activity(store)
    activity.answered(checked(), model=name)
    await activity.write()
    assert [each.model for each in await activity.totals(0)] == ["half ?\ufffd"]
