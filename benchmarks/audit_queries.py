"""Queries over a large audit trail: how long a page takes, however it is asked for.

A database of its own is made, filled and dropped on a PostgreSQL server, and a file of SQLite
beside it. Each kind of query is asked many times, each time for something else, through the same
code that the admin plane uses.

Run it: ``python benchmarks/audit_queries.py --postgres postgresql://user:password@host/postgres
--out benchmarks/results/audit_queries.json``
"""

import argparse
import asyncio
import random
import secrets
import sqlite3
import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import measure
import trails
from sqlalchemy import text
from sqlalchemy.schema import CreateIndex, DropIndex

from groundwire.control.audit.cursor import to_cursor
from groundwire.control.audit.trail import Filter, Trail
from groundwire.control.store import Store, moments
from groundwire.control.store.tables import audit_details, audit_records

BAR_MS = 100
LIMIT = 50
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """What queries can ask for: rows that are there, chosen by chance."""

    chance: random.Random
    rows: Sequence[Mapping[str, Any]]

    def row(self) -> Mapping[str, Any]:
        """One of them."""
        return self.chance.choice(self.rows)

    def days(self, n_days: float) -> dict[str, Any]:
        """A range of time."""
        first = self.chance.uniform(0, trails.DAYS - n_days)
        since = moments.to_datetime(trails.START) + timedelta(days=first)
        return {"since": since, "until": since + timedelta(days=n_days)}

    def cursor(self) -> str:
        """The cursor of a page far from the beginning of the trail."""
        row = self.row()
        return to_cursor(row["moment"], row["writer"], row["seq"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One way to ask.

    Attributes:
        what: In words.
        filter: What is asked for.
        is_far: Whether for a page far from the first.
        newest_first: Whether it goes back in time.
        limit: Of a page.
    """

    what: str
    filter: Callable[[Sample], Filter]
    is_far: bool = False
    newest_first: bool = True
    limit: int = LIMIT


def _same(what: str, *, limit: int = LIMIT, **fixed: Any) -> Kind:  # noqa: ANN401
    """Asks for the same each time."""
    return Kind(what=what, filter=lambda _: Filter(**fixed), limit=limit)


def _row(what: str, *names: str, days: float = 0, **fixed: Any) -> Kind:  # noqa: ANN401
    """Asks for what a row has that is there, perhaps in some days, each time another."""

    def filter_of(sample: Sample) -> Filter:
        row = sample.row()
        found = {name: (row["type"],) if name == "types" else row[name] for name in names}
        return Filter(**found, **fixed, **(sample.days(days) if days else {}))

    return Kind(what=what, filter=filter_of)


def _far(what: str, **fixed: Any) -> Kind:  # noqa: ANN401
    return replace(_same(what, **fixed), is_far=True)


ALL_TYPES = tuple(trails.TYPES)
KINDS = (
    _same("newest"),
    replace(_same("oldest"), newest_first=False),
    _same("newest, page of 500", limit=500),
    _row("tenant", "tenant"),
    _same("tenant with most of it", tenant=trails.BIG),
    _same("tenant with most of it, page of 500", tenant=trails.BIG, limit=500),
    _same("tenant that has left", tenant=trails.LEFT),
    _same("tenant with ten events", tenant=trails.RARE),
    _same("tenant with none", tenant=trails.NOBODY),
    _row("type", "types"),
    _same("rare type", types=(trails.SELDOM,)),
    _same("type with none", types=("ADMIN_LOGIN",)),
    _same("all six types", types=ALL_TYPES),
    _same("all six types, page of 500", types=ALL_TYPES, limit=500),
    _row("tenant, type", "tenant", "types"),
    _same("large tenant, rare type", tenant=trails.BIG, types=(trails.SELDOM,)),
    _same("large tenant, six types", tenant=trails.BIG, types=ALL_TYPES),
    _same("tenant that has left, common type", tenant=trails.LEFT, types=(trails.COMMON,)),
    _same("rare tenant, six types", tenant=trails.RARE, types=ALL_TYPES),
    _row("trace id", "trace_id"),
    _same("trace id with none", trace_id="f" * 32),
    _same("trace id of 20,000 requests", trace_id=trails.SHARED_TRACE),
    _same("the same, rare tenant", trace_id=trails.SHARED_TRACE, tenant=trails.RARE),
    _row("day", days=1),
    _row("minute", days=1 / 1440),
    _row("tenant, day", "tenant", days=1),
    _row("tenant, type, day", "tenant", "types", days=1),
    replace(
        _row("tenant, six types, week, oldest first", "tenant", types=ALL_TYPES, days=7),
        newest_first=False,
    ),
    _far("far into it"),
    _far("far into a tenant", tenant=trails.BIG),
    _far("far into a tenant's six types", tenant=trails.BIG, types=ALL_TYPES),
    _row("chain", "writer"),
    _row("chain, rare tenant", "writer", tenant=trails.RARE),
    _row("chain, week", "writer", days=7),
)


# Filling.


@asynccontextmanager
async def postgres(server: str, made: Iterator[trails.Made]) -> AsyncIterator[tuple[Store, float]]:
    """A database of its own that is filled with records, and how long filling took."""
    name = f"groundwire_bench_{secrets.token_hex(4)}"
    url = urlsplit(server)._replace(path=f"/{name}").geturl()
    await _run(server, f'CREATE DATABASE "{name}"')
    try:
        async with Store(url) as store:
            begin = time.perf_counter()
            await _without_indices(store, lambda: _copy(url, made))
            await _run(url, "VACUUM ANALYZE audit_records")
            await _run(url, "VACUUM ANALYZE audit_details")
            yield store, time.perf_counter() - begin
    finally:
        await _run(server, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


async def _run(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def _without_indices(store: Store, fill: Callable[[], Any]) -> None:
    """Fill the tables, and make their indices after that, which takes a third of the time."""
    indices = [*audit_records.indexes, *audit_details.indexes]
    async with store.writing() as connection:
        for index in indices:
            await connection.execute(DropIndex(index))
    await fill()
    for index in indices:
        async with store.writing() as connection:
            if not store.is_sqlite:
                await connection.execute(text("SET LOCAL maintenance_work_mem = '512MB'"))
            await connection.execute(CreateIndex(index))


async def _copy(url: str, made: Iterator[trails.Made]) -> None:
    connection = await asyncpg.connect(url)
    try:
        for some in _pieces(made):
            await connection.copy_records_to_table(
                "audit_records", records=[each.row for each in some], columns=trails.COLUMNS
            )
            await connection.copy_records_to_table(
                "audit_details",
                records=[each.detail for each in some if each.detail],
                columns=trails.DETAIL_COLUMNS,
            )
    finally:
        await connection.close()


@asynccontextmanager
async def sqlite(made: Iterator[trails.Made]) -> AsyncIterator[tuple[Store, float]]:
    """A file that is filled with records, and how long filling took."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "groundwire.db"
        async with Store(f"sqlite:///{path}") as store:
            begin = time.perf_counter()

            async def fill() -> None:
                await asyncio.to_thread(_insert, path, made)

            await _without_indices(store, fill)
            yield store, time.perf_counter() - begin


def _pieces(made: Iterator[trails.Made]) -> Iterator[list[trails.Made]]:
    while piece := list(islice(made, 20_000)):
        yield piece


def _insert(path: Path, made: Iterator[trails.Made]) -> None:
    connection = sqlite3.connect(path)
    tables = (("audit_records", trails.COLUMNS), ("audit_details", trails.DETAIL_COLUMNS))
    statements = [
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        for table, columns in tables
    ]
    for some in _pieces(made):
        connection.executemany(statements[0], [each.row for each in some])
        connection.executemany(statements[1], [each.detail for each in some if each.detail])
        connection.commit()
    connection.close()


# Measuring.


async def measured(store: Store, sample: Sample, rounds: int) -> list[Row]:
    """A row for each kind of query."""
    trail, rows = Trail(store), []
    for kind in KINDS:
        asked = [
            (kind.filter(sample), sample.cursor() if kind.is_far else None) for _ in range(rounds)
        ]
        times, n_events = [], []
        for each, cursor in asked[: rounds // 10] + asked:
            begin = time.perf_counter()
            page = await trail.page(
                each, cursor=cursor, limit=kind.limit, newest_first=kind.newest_first
            )
            times.append((time.perf_counter() - begin) * 1000)
            n_events.append(len(page.events))
        times, n_events = times[rounds // 10 :], n_events[rounds // 10 :]
        rows.append(_times(kind.what, times) | {"events": round(statistics.mean(n_events))})
    ids = [sample.row()["event_id"] for _ in range(rounds)]
    times = []
    for event_id in ids:
        begin = time.perf_counter()
        assert await trail.get(event_id) is not None
        times.append((time.perf_counter() - begin) * 1000)
    return [*rows, _times("one event, with its detail", times) | {"events": 1}]


def _times(what: str, times: Sequence[float]) -> Row:
    return {
        "what": what,
        "n": len(times),
        "p50": round(measure.percentile(times, 0.5), 2),
        "p95": round(measure.percentile(times, 0.95), 2),
        "max": round(max(times), 2),
    }


async def sample_of(store: Store, seed: int) -> Sample:
    """Rows that are there: some by their place, so that all of the trail is among them."""
    columns = "moment, writer, seq, tenant, type, trace_id, event_id"
    query = f"SELECT {columns} FROM audit_records WHERE moment >= :at ORDER BY moment LIMIT 1"
    rows = []
    chance = random.Random(seed)
    async with store.reading() as connection:
        for _ in range(500):
            at = trails.START + chance.randrange(trails.DAYS * 86_400_000_000 * 99 // 100)
            found = await connection.execute(text(query), {"at": at})
            rows += [dict(row) for row in found.mappings()]
    return Sample(chance, rows)


async def version_of(store: Store) -> str:
    """The database's own version."""
    if store.is_sqlite:
        return sqlite3.sqlite_version
    async with store.reading() as connection:
        return "PostgreSQL " + str(await connection.scalar(text("SHOW server_version"))).split()[0]


async def told(name: str, store: Store, filled_s: float, rounds: int) -> Row:
    """Measure one database, and print what came of it."""
    print(f"\n{name}, filled in {filled_s:.0f} s")
    sample = await sample_of(store, seed=1)
    rows = await measured(store, sample, rounds)
    print(measure.table(rows, ("what", "n", "events", "p50", "p95", "max")))
    version = await version_of(store)
    return {"version": version, "filled_s": round(filled_s), "rows": rows}


async def main() -> None:
    """Print the tables, and write them as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--postgres", metavar="URL", help="a server on which a database may be made"
    )
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=200, help="queries of each kind")
    options = parser.parse_args()
    report: Row = {
        "benchmark": "audit_queries",
        "machine": measure.machine("sqlalchemy", "asyncpg", "aiosqlite"),
        "records": options.records,
        "bars": [],
    }
    if options.postgres:
        async with postgres(options.postgres, trails.records(options.records)) as (store, filled_s):
            found = await told("postgresql", store, filled_s, options.rounds)
        report |= {"postgresql": found, "bars": _bars(found)}
    async with sqlite(trails.records(options.records)) as (store, filled_s):
        report["sqlite"] = await told("sqlite", store, filled_s, options.rounds)
    measure.print_bars(report["bars"])
    measure.write(options.out, report)


def _bars(found: Row) -> list[Row]:
    slowest = max(found["rows"], key=lambda row: float(row["p95"]))
    what = f"page of a large audit trail, the slowest way to ask ({slowest['what']}), P95"
    return [measure.bar(what, BAR_MS, slowest["p95"], "ms")]


if __name__ == "__main__":
    asyncio.run(main())
