"""How many events a second the audit trail takes, and what one costs.

Each event is a finding with its detail, as the gateway writes it, into a new database; each run is
a new audit log, which is closed at its end, so that all events are kept. Rows:

- batched: events are handed over as fast as they are taken, by so many callers at a time;
- before_response: each caller waits until its event is on the disk, and comes again;
- paced: 2,000 events a second, batched, for as long as ``--seconds`` says: what waits at most, and
  how much of one processor it takes.

Run it: ``python benchmarks/audit_writes.py --out benchmarks/results/audit_writes.json``; with
``--postgres URL`` (an empty database, in which the records stay) PostgreSQL is measured as well.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import measure

from groundwire.config import parse
from groundwire.control.audit.configured import audit_log
from groundwire.control.audit.event import AuditEvent, EventType
from groundwire.control.audit.log import AuditLog

BAR_PER_S = 2000
COLUMNS = (
    *("database", "durability", "callers", "per_s", "q1", "q3", "cpu_us", "p50_ms", "p99_ms"),
    *("most_waiting", "cpu_share"),
)

_CLAIM = "It was built in 1950, and painted green in the year after that by many people."
_DETAIL = {
    "claims": [
        {
            "start": 80 * index,
            "end": 80 * index + 78,
            "text": _CLAIM,
            "label": "unsupported" if index % 3 == 0 else "supported",
            "probability": 0.97,
            "evidence": [
                {"source": "doc-1", "start": 0, "end": 120, "quote": _CLAIM + _CLAIM[:40]}
            ],
        }
        for index in range(8)
    ],
    "coverage": {"answer": 1.0, "indexed": 1.0, "attended": 0.8},
    "timings_ms": {"gate": 2.1, "sources": 30.2, "answer": 12.9},
}
_EVENT = AuditEvent(
    type=EventType.HALLUCINATION_DETECTED,
    tenant="acme",
    trace_id="0" * 32,
    payload={
        "workspace_id": "acme",
        "action": "flag",
        "grounded": False,
        "confidence": 0.031415,
        "overall_similarity": None,
        "ungrounded_claim_count": 1,
        "ungrounded_claims": (_CLAIM,),
        "unsupported_spans": ("1950",),
        "unsupported_span_count": 1,
        "detector": "reader",
        "max_severity": 4,
    },
    detail=_DETAIL,
)

#: Of a caller: asks until there are no numbers left, and gives how long each took, in seconds.
Caller = Callable[[AuditLog, Any], Coroutine[Any, Any, list[float]]]


def event(number: int) -> AuditEvent:
    """An event of its own."""
    made = AuditEvent(type=_EVENT.type, tenant="acme", trace_id="", payload={})
    return replace(_EVENT, trace_id=f"{number:032x}", id=made.id, timestamp=made.timestamp)


async def hand_over(log: AuditLog, numbers: Any) -> list[float]:  # noqa: ANN401
    """A caller that does not wait until its events are kept."""
    for number in numbers:
        await log.write(event(number))
        await asyncio.sleep(0)
    return []


async def settle(log: AuditLog, numbers: Any) -> list[float]:  # noqa: ANN401
    """A caller that does."""
    times = []
    for number in numbers:
        begin = time.perf_counter()
        if not await log.settle([event(number)]):
            raise SystemExit("an event was not kept in time")
        times.append(time.perf_counter() - begin)
    return times


async def run(url: str, durability: str, *, callers: int, events: int) -> dict[str, float]:
    """One run: events a second, processor time of each, and how long callers waited."""
    log, numbers = await opened(url, durability), iter(range(events))
    caller: Caller = settle if durability == "before_response" else hand_over
    begin, cpu = time.perf_counter(), time.process_time()
    times = await asyncio.gather(*(caller(log, numbers) for _ in range(callers)))
    lost = await log.close()
    took = time.perf_counter() - begin
    if lost:
        raise SystemExit(f"{lost} events were lost")
    waited = [1000 * each for own in times for each in own] or [0.0]
    return {
        "per_s": events / took,
        "cpu_us": 1e6 * (time.process_time() - cpu) / events,
        "p50_ms": statistics.median(waited),
        "p99_ms": measure.percentile(waited, 0.99),
    }


async def paced(url: str, *, seconds: float) -> dict[str, float]:
    """One run at the rate that must hold."""
    log, most = await opened(url, "batched"), 0
    begin, cpu = time.perf_counter(), time.process_time()
    for number in count():
        due = begin + number / BAR_PER_S
        if due > begin + seconds:
            break
        if (left := due - time.perf_counter()) > 0:
            await asyncio.sleep(left)
        await log.write(event(number))
        most = max(most, log.stats.depth)
    took = time.perf_counter() - begin
    share = 100 * (time.process_time() - cpu) / took
    await log.close()
    return {"per_s": number / took, "most_waiting": most, "cpu_share": round(share, 1)}


async def opened(url: str, durability: str) -> AuditLog:
    """A log in a database, which has written its start."""
    environ = {
        "GROUNDWIRE_STORE_URL": url,
        "GROUNDWIRE_AUDIT_KEY": "k" * 32,
        "GROUNDWIRE_AUDIT_DURABILITY": durability,
    }
    log = audit_log(parse("", name="", environ=environ), is_stored=True)
    await log.open()
    if not await log.settle([event(0)]):
        raise SystemExit("the database cannot be written")
    return log


def measured(url: str, options: argparse.Namespace, quiet: measure.Quiet) -> list[measure.Row]:
    """All rows of one database; of a row, the medians of its runs."""
    rows: list[measure.Row] = []
    for durability, callers, events in (
        ("batched", 1, options.events),
        ("batched", 16, options.events),
        # With few callers there are as many commits as events, and fewer of them take as long.
        ("before_response", 1, options.events // 32),
        ("before_response", 16, options.events // 4),
        ("before_response", 64, options.events // 2),
    ):
        once = partial(run, url, durability, callers=callers, events=events)
        runs = [quiet.run(lambda: asyncio.run(once())) for _ in range(options.runs)]  # noqa: B023
        rates = measure.summary([each["per_s"] for each in runs], digits=0)
        names = ["cpu_us", *(["p50_ms", "p99_ms"] if durability == "before_response" else [])]
        rows.append(
            {
                "database": url.partition(":")[0],
                "durability": durability,
                "callers": callers,
                "per_s": rates["median"],
                "q1": rates["q1"],
                "q3": rates["q3"],
                **{name: round(statistics.median(r[name] for r in runs), 1) for name in names},
            }
        )
    steady = quiet.run(lambda: asyncio.run(paced(url, seconds=options.seconds)))
    own = {"database": url.partition(":")[0], "durability": "batched, paced", "callers": 1}
    return [*rows, {**own, **steady, "per_s": round(steady["per_s"])}]


def bars_of(rows: list[measure.Row]) -> list[dict[str, Any]]:
    """What must hold, into SQLite."""
    found = {
        (row["durability"], row["callers"]): row for row in rows if row["database"] == "sqlite"
    }
    return [
        measure.bar(
            f"audit events a second into SQLite, {durability}, callers: {callers}",
            BAR_PER_S,
            found[durability, callers]["per_s"],
            "/s",
            at_least=True,
        )
        for durability, callers in (("batched", 16), ("before_response", 64))
    ]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--events", type=int, default=40_000, help="of a run")
    parser.add_argument("--runs", type=int, default=5, help="of a row")
    parser.add_argument("--seconds", type=float, default=30.0, help="of the paced run")
    parser.add_argument("--postgres", metavar="URL", help="measure this database as well")
    parser.add_argument("--patience", type=float, default=60.0, help=measure.PATIENCE)
    parser.add_argument("--folder", type=Path, help="where the file of SQLite is made")
    parser.add_argument("--out", type=Path, help="write the results there")
    options = parser.parse_args()
    quiet = measure.Quiet(options.patience)
    with TemporaryDirectory(dir=options.folder) as folder:
        rows = measured(f"sqlite:///{folder}/audit.db", options, quiet)
    if options.postgres:
        rows += measured(options.postgres, options, quiet)
    print(measure.table(rows, COLUMNS))
    bars = bars_of(rows)
    print(measure.table(bars, ("what", "bar", "measured", "holds")))
    packages = ("sqlalchemy", "aiosqlite", "asyncpg")
    report = {"machine": measure.machine(*packages), **quiet.to_dict(), "rows": rows, "bars": bars}
    measure.write(options.out, report)


if __name__ == "__main__":
    main()
