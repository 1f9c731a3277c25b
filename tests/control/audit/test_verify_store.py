"""What somebody who can write to the database, and has not the key, can do: nothing unnoticed."""

import asyncio
import sqlite3
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sqlalchemy import Table, select, text, update

from groundwire.control.audit.chain import Chain, ended
from groundwire.control.audit.store_sink import StoreSink
from groundwire.control.audit.verdict import TrailStatus, TrailVerdict
from groundwire.control.audit.verify_store import verify_store
from groundwire.control.store import Store
from groundwire.control.store.tables import audit_details, audit_records, audit_writers
from tests.control.audit.trails import KEY, event
from tests.tiers import costly

#: Statements of somebody who can write to the database; {0} and {1} are writers.
TAMPERINGS = {
    "edit an event": "UPDATE audit_records SET line = replace(line, 'mark', 'none') WHERE seq = 2",
    "edit a detail": "UPDATE audit_details SET detail = '[]'",
    "delete a detail": "DELETE FROM audit_details WHERE writer = '{0}'",
    "change whose event it is": "UPDATE audit_records SET tenant = 'globex' WHERE seq = 2",
    "delete an event": "DELETE FROM audit_records WHERE writer = '{0}' AND seq = 3",
    "delete a chain": "DELETE FROM audit_records WHERE writer = '{0}'",
    "delete a head": "DELETE FROM audit_writers WHERE writer = '{1}'",
    "say that it ended": "UPDATE audit_writers SET ended_at = started_at",
    "forget the hash": "UPDATE audit_records SET detail_sha256 = NULL",
}


async def write_trail(url: str) -> tuple[str, str]:
    """A chain that ended, and one whose writer was killed; who they are."""
    writers = []
    for is_closed in (True, False):
        sink, chain = StoreSink(Store(url), [KEY]), Chain.new(KEY)
        own = [chain.started(await sink.heads())]
        own += [event(number, detail={"n": number} if number % 2 else None) for number in range(4)]
        own += [ended(n_lost=0)] if is_closed else []
        await sink.append([chain.link(each) for each in own])
        await sink.close()
        writers.append(chain.writer)
    return writers[0], writers[1]


def verdict_of(url: str) -> TrailVerdict:
    async def verify() -> TrailVerdict:
        async with Store(url) as store:
            return await verify_store(store, [KEY])

    return asyncio.run(verify())


def run(url: str, statement: str) -> None:
    async def execute() -> None:
        async with Store(url) as store, store.writing() as connection:
            found = await connection.execute(text(statement))
            assert found.rowcount > 0, "it changes nothing"

    asyncio.run(execute())


def test_a_trail_nobody_touched_is_intact(store_url: str) -> None:
    asyncio.run(write_trail(store_url))
    verdict = verdict_of(store_url)
    assert verdict.findings == ()
    assert verdict.status is TrailStatus.INTACT
    assert (verdict.records, verdict.chains, verdict.chains_open) == (11, 2, 1)


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_found(store_url: str, name: str) -> None:
    run_as = TAMPERINGS[name].format(*asyncio.run(write_trail(store_url)))
    run(store_url, run_as)
    assert verdict_of(store_url).status is TrailStatus.TAMPERED


@pytest.mark.merge
@settings(costly(0.12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_that_is_changed_is_found(store_url: str, data: st.DataObject) -> None:
    """The trail is mended after each."""

    async def change() -> TrailVerdict:
        async with Store(store_url) as store:
            async with store.reading() as connection:
                if not (await connection.execute(select(audit_writers).limit(1))).first():
                    await write_trail(store_url)
            table = data.draw(st.sampled_from([audit_records, audit_details, audit_writers]))
            column = data.draw(st.sampled_from([each.name for each in table.columns]))
            assume((table.name, column) != ("audit_details", "moment"))  # it signs nothing
            async with store.reading() as connection:
                rows = (await connection.execute(select(table))).mappings().all()
            row = dict(data.draw(st.sampled_from(rows)))
            others = [other[column] for other in rows if other[column] is not None] or [1]
            value = data.draw(
                st.sampled_from(others)
                | (st.integers(0, 10**6) if isinstance(others[0], int) else st.just("f" * 12))
            )
            place = {key.name: row[key.name] for key in table.primary_key}
            taken = [{key: other[key] for key in place} for other in rows]
            assume(value != row[column] and place | {column: value} not in taken)
            await put(store, table, place, {column: value})
            verdict = await verify_store(store, [KEY])
            changed = {key: value if key == column else old for key, old in place.items()}
            await put(store, table, changed, {column: row[column]})
            return verdict

    assert asyncio.run(change()).status is TrailStatus.TAMPERED
    assert verdict_of(store_url).status is TrailStatus.INTACT


async def put(store: Store, table: Table, place: dict[str, Any], values: dict[str, Any]) -> None:
    conditions = [table.c[name] == value for name, value in place.items()]
    async with store.writing() as connection:
        changed = await connection.execute(update(table).where(*conditions).values(values))
        assert changed.rowcount == 1


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_records SET seq = 'two' WHERE seq = 2",
        "UPDATE audit_records SET line = x'00' WHERE seq = 2",
        "UPDATE audit_records SET writer = x'00' WHERE type = 'CHAIN_ENDED'",
        "UPDATE audit_writers SET signature = x'00'",
    ],
)
def test_values_of_another_kind_are_found_as_sqlite_takes_them(
    tmp_path: Path, statement: str
) -> None:
    path = tmp_path / "groundwire.db"
    asyncio.run(write_trail(f"sqlite:///{path}"))
    with sqlite3.connect(path) as connection:
        assert connection.execute(statement).rowcount > 0
    connection.close()
    assert verdict_of(f"sqlite:///{path}").status is TrailStatus.TAMPERED


def test_a_trail_is_intact_while_others_write(store_url: str) -> None:
    """What is read is of one moment, so that no head is of another than its records."""

    async def verify() -> list[TrailVerdict]:
        await write_trail(store_url)
        sink, chain = StoreSink(Store(store_url), [KEY]), Chain.new(KEY)
        await sink.append([chain.link(chain.started(await sink.heads()))])

        async def write() -> None:
            for number in takewhile(lambda _: not is_verified, count()):
                await sink.append([chain.link(event(number))])

        async with Store(store_url) as store:
            writing, is_verified = asyncio.create_task(write()), False
            verdicts = [await verify_store(store, [KEY]) for _ in range(10)]
            is_verified = True
            await writing
        await sink.close()
        return verdicts

    verdicts = asyncio.run(verify())
    assert {verdict.status for verdict in verdicts} == {TrailStatus.INTACT}
    assert verdicts[0].records < verdicts[-1].records
