"""However a page is asked for, an index gives its rows in their order: no table is read in vain."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from sqlalchemy import text

from groundwire.control.audit import EventType, queries
from groundwire.control.audit.cursor import RecordPosition
from groundwire.control.audit.filters import Filter
from groundwire.control.audit.queries import TrailQuery, of_event
from groundwire.control.store import Store
from groundwire.control.store.moments import of_datetime
from tests.control.audit.filled import at

#: In a large table 5,000 rows are few, in this one 200 are.
N_ROWS, LIMIT, EXAMINED = 30_000, 51, 200
SOME, OTHER = EventType.HALLUCINATION_DETECTED, EventType.CHECK_INCOMPLETE
MIDDLE = RecordPosition(of_datetime(at(N_ROWS / 2)), "1" * 32, 5)
WEEK = {"since": at(1000), "until": at(2000)}

#: What is asked for → the index that has it in the order of time, or of the chain.
ASKED: Mapping[str, tuple[dict[str, Any], str]] = {
    "all": ({}, "moment_writer_seq"),
    "some time": (WEEK, "moment_writer_seq"),
    "a tenant": ({"tenant": "large"}, "tenant_moment_writer_seq"),
    "a tenant that has left": ({"tenant": "left"}, "tenant_moment_writer_seq"),
    "a tenant with nothing": ({"tenant": "nobody"}, "tenant_moment_writer_seq"),
    "a tenant, some time": ({"tenant": "large", **WEEK}, "tenant_moment_writer_seq"),
    "a type": ({"types": (SOME,)}, "type_moment_writer_seq"),
    "a rare type": ({"types": (OTHER,)}, "type_moment_writer_seq"),
    "types": ({"types": (SOME, OTHER)}, "type_moment_writer_seq"),
    "a tenant, a type": ({"tenant": "large", "types": (OTHER,)}, "tenant_type_moment_writer_seq"),
    "a tenant, types": (
        {"tenant": "left", "types": (SOME, OTHER), **WEEK},
        "tenant_type_moment_writer_seq",
    ),
    "a trace": ({"trace_id": "often"}, "trace_id_moment_writer_seq"),
    "a trace, a tenant": ({"trace_id": "often", "tenant": "left"}, "trace_id_moment_writer_seq"),
}
CHAINS: Mapping[str, dict[str, Any]] = {
    "a chain": {"writer": "1" * 32},
    "a chain, a tenant": {"writer": "1" * 32, "tenant": "nobody"},
    "a chain, some time": {"writer": "1" * 32, **WEEK},
}

#: A third is of a large tenant; one had as much, and has had nothing for two thirds of the time.
_FILL = """
INSERT INTO audit_records
SELECT CASE WHEN n % 2 = 0 THEN '{one}' ELSE '{other}' END, n, 'id-' || n,
       {start} + n * CAST(1000000 AS BIGINT),
       CASE WHEN n % 3 = 0 THEN 'large' WHEN n % 3 = 1 AND n < {n_rows} / 3 THEN 'left'
            ELSE 'small-' || (n % 300) END,
       CASE WHEN n % 1000 = 0 THEN '{rare}' ELSE '{common}' END,
       CASE WHEN n % 10 = 0 THEN 'often' ELSE 'trace-' || n END,
       '{{}}', NULL, '{mac}', '{mac}'
FROM {numbers}
"""
_SERIES = {
    True: """(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {0})
    SELECT n FROM s)""",
    False: "generate_series(1, {0}) AS n",
}


async def fill(store: Store) -> None:
    values = {"one": "1" * 32, "other": "2" * 32, "rare": OTHER, "common": SOME, "mac": "0" * 64}
    numbers = _SERIES[store.is_sqlite].format(N_ROWS)
    sql = _FILL.format(start=of_datetime(at(0)), n_rows=N_ROWS, numbers=numbers, **values)
    async with store.writing() as connection:
        await connection.exec_driver_sql(sql)
        await connection.exec_driver_sql(
            "INSERT INTO audit_details SELECT writer, seq, moment, '{}' FROM audit_records"
        )
        if not store.is_sqlite:
            await connection.execute(text("ANALYZE audit_records"))
            await connection.execute(text("ANALYZE audit_details"))


@pytest.fixture
def store(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[asyncio.Runner, Store]]:
    """A store with many rows, and what runs in its event loop."""
    monkeypatch.setattr(queries, "MAX_EXAMINED", EXAMINED)
    with asyncio.Runner() as runner:
        filled = Store(store_url)
        runner.run(filled.open())
        try:
            runner.run(fill(filled))
            yield runner, filled
        finally:
            runner.run(filled.close())


async def explained(store: Store, statement: Any) -> list[str]:  # noqa: ANN401
    """What is wrong with the plan of a statement; then its indices."""
    async with store.reading() as connection:
        compiled = statement.compile(
            dialect=connection.dialect, compile_kwargs={"literal_binds": True}
        )
        how = "QUERY PLAN" if store.is_sqlite else "(ANALYZE, FORMAT JSON)"
        found = (await connection.exec_driver_sql(f"EXPLAIN {how} {compiled}")).all()
    return _of_sqlite(found) if store.is_sqlite else _of_postgresql(found[0][0])


def _of_sqlite(rows: Any) -> list[str]:  # noqa: ANN401
    steps = [(row[1], str(row[3])) for row in rows]  # with what each is part of
    assert [
        each for _, each in steps if each.startswith("SCAN audit") and "INDEX" not in each
    ] == []
    # What an index gives is in order; a page of it, or one row, may be put in order once more.
    single = ("seq=?", "event_id=?")
    stretches = {
        of for of, each in steps if " INDEX " in each and not any(one in each for one in single)
    }
    assert stretches.isdisjoint(of for of, each in steps if "TEMP B-TREE" in each)
    return [each.split(" INDEX ")[1].split(" ")[0] for _, each in steps if " INDEX " in each]


def _of_postgresql(told: Any) -> list[str]:  # noqa: ANN401
    plan = (json.loads(told) if isinstance(told, str) else told)[0]["Plan"]
    nodes = list(_nodes(plan))
    assert [n["Relation Name"] for n in nodes if n["Node Type"] == "Seq Scan"] == []
    read = [n["Actual Rows"] * n["Actual Loops"] for n in nodes if "Index" in n["Node Type"]]
    in_vain = [n.get("Rows Removed by Filter", 0) for n in nodes if "Index" in n["Node Type"]]
    assert max(read) <= EXAMINED
    # For a type that nearly all rows have it may read all types, and leave out a few.
    assert max(in_vain) <= LIMIT
    return [n["Index Name"] for n in nodes if "Index Name" in n]


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for each in plan.get("Plans", ()):
        yield from _nodes(each)


def test_every_way_to_ask_has_its_index(store: tuple[asyncio.Runner, Store]) -> None:
    runner, filled = store
    for what, (given, index) in ASKED.items():
        for newest_first in (True, False):
            for after in (None, MIDDLE):
                asked = TrailQuery(
                    filter=Filter(**given),
                    is_sqlite=filled.is_sqlite,
                    after=after,
                    newest_first=newest_first,
                )
                found = runner.run(explained(filled, asked.page(LIMIT)))
                # Of a tenant's type PostgreSQL may read the few rows that the type has, or that
                # are not of it.
                is_free = not filled.is_sqlite and {"tenant", "types"} <= given.keys()
                assert f"ix_audit_records_{index}" in found or is_free, what
                if asked.is_bounded:
                    found = runner.run(explained(filled, asked.last_examined()))
                    assert f"ix_audit_records_{index}" in found, what


def test_chains_and_events_have_theirs(store: tuple[asyncio.Runner, Store]) -> None:
    runner, filled = store
    key = "sqlite_autoindex_audit_records_1" if filled.is_sqlite else "pk_audit_records"
    for what, given in CHAINS.items():
        for after in (None, MIDDLE):
            asked = TrailQuery(filter=Filter(**given), is_sqlite=filled.is_sqlite, after=after)
            assert key in runner.run(explained(filled, asked.page(LIMIT))), what
            assert key in runner.run(explained(filled, asked.whole(LIMIT))), what
    found = runner.run(explained(filled, of_event("id-5")))
    assert "ix_audit_records_event_id" in found
