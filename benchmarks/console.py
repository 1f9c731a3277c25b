"""Pages of the console over a large audit trail: how long each takes, from the request to its HTML.

A database of its own is made, filled and dropped on a PostgreSQL server, and a file of SQLite
beside it. The events are made of a few real checks, whose details are kept for the latest answers;
there are 121 tenants, counts of as many answers in 30 days, and labels. Each page is asked for many
times by somebody who is signed in, one at a time, through the ASGI app of the admin plane.

Run it: ``python benchmarks/console.py --postgres postgresql://user:password@host/postgres
--out benchmarks/results/console.json``
"""

import argparse
import asyncio
import gc
import json
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import audit_queries
import corpus
import httpx2 as httpx
import measure
import numpy as np
import trails
from sqlalchemy import insert, text

from groundwire.config import parse
from groundwire.control.accounts import AccountRole, Accounts
from groundwire.control.activity import DAY_S, SLOT_S
from groundwire.control.audit.event import AuditEvent, EventType, moment_text
from groundwire.control.audit.events import response_events
from groundwire.control.audit.quoted import AuditText, Keeping
from groundwire.control.audit.trail import Filter, Trail
from groundwire.control.review.answers import facts_of
from groundwire.control.review.labels import Labels
from groundwire.control.store import Store, moments, tables
from groundwire.control.tenants.registry import Registry
from groundwire.control.verdicts import AnswerReview, Mark, ReviewVerdict
from groundwire.detection.example import Source
from groundwire.detection.values import Label
from groundwire.gateway.console.app import AdminPlane
from groundwire.gateway.control import ControlPlane
from groundwire.gateway.metrics import Metrics
from groundwire.gateway.middleware.readiness import Readiness
from groundwire.pipeline import Pipeline

BAR_MS = 100
#: The latest answers whose details are kept.
KEPT = 20_000
MODELS = ("gpt-5.1", "claude-sonnet-5")
#: Answers of the random sample that two reviewers have labelled.
N_LABELLED = 500
PASSWORD = "right horse battery"

PAGES = {
    "overview, 24 hours": "",
    "overview, 7 days": "?window=7d",
    "overview, 30 days": "?window=30d",
    "overview of a tenant, 30 days": "?window=30d&tenant=big",
    "tenants": "/tenants",
    "a tenant's settings": "/tenants/big",
    "a tenant's budget": "/tenants/big/budget",
    "a tenant's keys": "/tenants/big/keys",
    "audit trail": "/audit",
    "audit: a tenant's": "/audit?tenant=big",
    "audit: a small tenant's": "/audit?tenant=rare",
    "audit: yesterday's worst": "/audit?when=yesterday&order=worst",
    "audit: a tenant's worst of 30 days": "/audit?when=30d&order=worst&tenant=middle-3",
    "audit: unverified": "/audit?outcome=unverified",
    "audit: severity, model and action": "/audit?severity=3&model=gpt-5.1&action=header",
    "audit: a text that is common": "/audit?text=the",
    "audit: a text that is nowhere": "/audit?text=no+such+words",
    "audit: the same, with five filters": "/audit?text=no+such&model=x&action=log&severity=1"
    "&outcome=hallucinated",
    "an event": "/audit/EVENT",
    "review": "/review",
    "review of a small tenant": "/review?tenant=small-7",
    "review: random sample": "/review?view=sample",
    "an answer to judge": "/review/EVENT",
    "people": "/people",
    "account": "/account",
    "sign-in": "/sign-in",
}


def checked() -> dict[EventType, list[AuditEvent]]:
    """Events of real checks, by type."""
    found: dict[EventType, list[AuditEvent]] = {}
    keeping = Keeping(text=AuditText.FULL, sample=1)
    with Pipeline.load() as pipeline:
        for seed in range(8):
            made = corpus.synthesize(1_000, seed=seed, n_answer=150)
            sources = [Source(id=f"S{n}", text=each) for n, each in enumerate(made.sources)]
            context = pipeline.open_answer(sources, question=made.question)
            answers = (pipeline.check(context, made.answer),)
            for event in response_events(
                answers, tenant="-", trace_id="-", keeping=keeping, model="MODEL"
            ):
                found.setdefault(event.type, []).append(event)
    # Streamed answers are recorded in the same way, under another type.
    found[EventType.HALLUCINATION_DETECTED_STREAMING] = found[EventType.HALLUCINATION_DETECTED]
    return found


def records(n_records: int, events: dict[EventType, list[AuditEvent]]) -> Iterator[trails.Made]:
    """The records of :func:`trails.records`, with those about answers as they really are."""
    chance = random.Random(0)
    details = {kind: [json.dumps(each.detail) for each in some] for kind, some in events.items()}
    for number, made in enumerate(trails.records(n_records)):
        writer, seq, event_id, moment, tenant, type_, trace_id, line, _, previous, mac = made.row
        kind = EventType(type_)
        detail = None
        if kind in events:
            place = chance.randrange(len(events[kind]))
            payload = {**events[kind][place].payload, "model": chance.choice(MODELS)}
            data = {
                **{"id": event_id, "timestamp": moment_text(moments.to_datetime(moment))},
                **{"tenant": tenant, "type": type_, "trace_id": trace_id, "payload": payload},
            }
            line = json.dumps(data, separators=(",", ":"))
            if number >= n_records - KEPT:
                detail = (writer, seq, moment, details[kind][place])
        digest = None if detail is None else mac
        row = (writer, seq, event_id, moment, tenant, type_, trace_id, line, digest, previous, mac)
        yield trails.Made(row=row, detail=detail)


async def fill(store: Store, n_records: int) -> str:
    """Add tenants, counts, labels and an account; return the id of an answer that can be judged."""
    registry = Registry(store)
    for id_ in (*trails.TENANTS, trails.RARE):
        await registry.create(id_)
    await registry.set_policy(
        trails.BIG, {"action": "block", "false_block_budget": 0.05}, merges=True
    )
    await Accounts(store).save("anna", role=AccountRole.ADMIN, password=PASSWORD)
    labels, trail = Labels(store), Trail(store)
    sampled = Filter(tenant=trails.BIG, types=(EventType.ANSWER_SAMPLED,))
    for number, drawn in enumerate((await trail.page(sampled, limit=N_LABELLED)).events):
        record = await trail.get(str(drawn.event["id"]))
        assert record is not None
        assert record.detail is not None
        for account in ("rita", "otto"):
            verdict = (
                ReviewVerdict.WRONG if number % 3 or account == "otto" else ReviewVerdict.RIGHT
            )
            marks = tuple(
                Mark(start=x["start"], end=x["end"], label=Label.UNSUPPORTED, verdict=verdict)
                for x in record.detail["detection"]["spans"]
            )
            await labels.save(
                AnswerReview(
                    event_id=str(record.event["id"]),
                    account=account,
                    tenant=trails.BIG,
                    marks=marks,
                    facts=facts_of(record),
                )
            )
    async with store.writing() as connection:
        for some in counts(n_records):
            await connection.execute(insert(tables.activity), some)
        await connection.execute(insert(tables.check_times), list(stage_times()))
        if not store.is_sqlite:
            for table in ("activity", "check_times", "labels"):
                await connection.execute(text(f"ANALYZE {table}"))
    found = await labels.waiting("nobody", tenant=None)
    return str(found[0].event["id"])


def slots() -> list[int]:
    """The beginnings of the stretches of 30 days, as the gateway adds them up."""
    end = int(time.time()) // SLOT_S * SLOT_S
    hours = range(end - 25 * SLOT_S, end + 1, SLOT_S)
    quarters = range((hours[0] - 7 * DAY_S) // 21_600 * 21_600, hours[0] - 21_600, 21_600)
    days = range((end - 30 * DAY_S) // DAY_S * DAY_S, quarters[0] - DAY_S, DAY_S)
    return [*days, *quarters, *hours]


def counts(n_answers: int) -> Iterator[list[dict[str, Any]]]:
    """The rows of each tenant's counts, of about so many answers in 30 days."""
    chance = np.random.default_rng(0)
    results = (("grounded", "none", 0.6), ("hallucinated", "header", 0.3), ("skipped", "none", 0.1))
    starts = slots()
    lengths = dict(pairwise([*starts, starts[-1] + SLOT_S]))
    for tenant, weight in trails.TENANTS.items():
        mine = n_answers * weight / sum(trails.TENANTS.values()) / (30 * DAY_S)
        rows = [
            {"slot": slot, "tenant": tenant, "model": model, "outcome": outcome, "action": action}
            | {"n": int(chance.poisson(mine * (lengths[slot] - slot) * share / len(MODELS)))}
            for slot, model, (outcome, action, share) in product(starts, MODELS, results)
        ]
        yield [row for row in rows if row["n"]]


def stage_times() -> Iterator[dict[str, Any]]:
    """The rows of the times of checks."""
    stages = ("evidence", "gate", "decide", "index", "read", "explain", "added")
    for slot, stage, place in product(slots(), stages, range(10, 30)):
        yield {"slot": slot, "stage": stage, "range": place, "n": 5}


@asynccontextmanager
async def browser(store: Store, folder: str) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in to a console on the database of a store."""
    url = store.address.dsn or store.where
    yaml = "audit: {text: full, sample: 1}"
    environ = {"GROUNDWIRE_STORE_URL": url, "GROUNDWIRE_GATEWAY_DATA_DIR": folder}
    environ |= {"GROUNDWIRE_UPSTREAM_URL": "http://127.0.0.1:9/v1"}
    gc.freeze()  # as in groundwire serve
    control = ControlPlane(parse(yaml, name="groundwire.yaml", environ=environ))
    app = AdminPlane(control, readiness=Readiness(), metrics=Metrics())
    await control.begin()
    await control.wait_until_open()
    try:
        with Pipeline.load(control.config, tenants=control.directory) as control.pipeline:
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1:8090"
            ) as client:
                form = {"name": "anna", "password": PASSWORD}
                assert (await client.post("/console/sign-in", data=form)).status_code == 303
                yield client
    finally:
        await control.close()


async def measured(store: Store, n_records: int, rounds: int) -> list[dict[str, Any]]:
    """A row for each page."""
    event, rows = await fill(store, n_records), []
    with TemporaryDirectory() as folder:
        async with browser(store, folder) as client:
            for name, path in PAGES.items():
                times = []
                for number in range(rounds + 5):
                    if path == "/sign-in":
                        client.cookies.clear()
                    begin = time.perf_counter()
                    answer = await client.get("/console" + path.replace("EVENT", event))
                    took = (time.perf_counter() - begin) * 1000
                    assert answer.status_code == 200, (name, answer.status_code, answer.text)
                    times += [took] if number >= 5 else []
                rows.append(
                    {"page": name, "n": len(times), "kb": round(len(answer.content) / 1000)}
                    | {
                        "p50": round(measure.percentile(times, 0.5), 1),
                        "p95": round(measure.percentile(times, 0.95), 1),
                        "max": round(max(times), 1),
                    }
                )
    print(measure.table(rows, ("page", "n", "kb", "p50", "p95", "max")))
    return rows


async def main() -> None:
    """Print the tables, and write them as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--postgres", metavar="URL", help="a server where a database may be made")
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--records", type=int, default=1_000_000, help="in PostgreSQL")
    parser.add_argument("--sqlite", type=int, default=200_000, help="records in SQLite")
    parser.add_argument("--rounds", type=int, default=60, help="how often each page is asked for")
    options = parser.parse_args()
    trails.START = moments.of_datetime(datetime.now(UTC) - timedelta(days=trails.DAYS))
    trails.TYPES = {**trails.TYPES, str(EventType.ANSWER_SAMPLED): 2_000}
    events, bars = checked(), []
    report: dict[str, Any] = {
        "benchmark": "console",
        "machine": measure.machine("sqlalchemy", "asyncpg", "aiosqlite", "jinja2"),
    }
    for name, n_records in (("postgresql", options.records), ("sqlite", options.sqlite)):
        made = records(n_records, events)
        if name == "postgresql" and not options.postgres:
            continue
        filled = (
            audit_queries.sqlite(made)
            if name == "sqlite"
            else audit_queries.postgres(options.postgres, made)
        )
        async with filled as (store, filled_s):
            print(f"\n{name}, {n_records:,} records, filled in {filled_s:.0f} s")
            rows = await measured(store, n_records, options.rounds)
            version = await audit_queries.version_of(store)
        report[name] = {"version": version, "records": n_records, "rows": rows}
        slowest = max(rows, key=lambda row: float(row["p95"]))
        what = f"slowest page of the console ({slowest['page']}), {n_records:,} events, {name}, P95"
        bars.append(measure.bar(what, BAR_MS, slowest["p95"], "ms"))
    measure.print_bars(bars)
    measure.write(options.out, report | {"bars": bars})


if __name__ == "__main__":
    asyncio.run(main())
