"""kill -9 of the gateway at random moments: which responses that clients have are not on record.

``groundwire serve`` with ``audit.durability: before_response`` stands before a scripted upstream;
some clients ask for answers with a finding, whole and streamed in turn, and note the trace id of
each response that they have to its last byte. The gateway is killed at a random moment, and started
again on the same database. At the end all that was noted has to be in the trail, and the trail
intact. What is in it besides are responses that were on their way.

Run it: ``python benchmarks/serve_kills.py --out benchmarks/results/serve_kills.json``; with
``--postgres URL`` (an empty database, in which the records stay) PostgreSQL is tried as well.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import threading
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import measure
from serving import processes
from serving.processes import Server
from sqlalchemy import select

from groundwire.control.audit.verify_store import verify_store
from groundwire.control.store import Store
from groundwire.control.store.tables import audit_records

KEY = b"k" * 32
COLUMNS = ("database", "kills", "responses", "recorded", "lost", "chains", "trail")
#: Similarity of hashed words judges at once, so that most of the time is the gateway's own.
SETTINGS: dict[str, Any] = {
    "check": {"action": "header"},
    "detector": {"name": "similarity:hash"},
    "admin": {"enabled": False},
}
_REQUEST: dict[str, Any] = {
    "model": "scripted-1",
    "messages": [{"role": "user", "content": "What is the tower made of?"}],
    "metadata": {"grounding.sources": ["Bread is baked from flour and water."]},
}


def killed(
    name: str, url: str | None, direct: Server, folder: Path, options: argparse.Namespace
) -> measure.Row:
    """Kill gateways on one database, and look at what is there."""
    chance, noted = random.Random(options.seed), set[str]()
    own = {**SETTINGS, "audit": {"path": None, "key": KEY.decode()}}
    own["audit"]["durability"] = "before_response"
    if url is not None:
        own["store"] = {"url": url}
    for _ in range(options.kills):
        with processes.gateway(name, direct, folder, own) as server:
            noted |= _until_killed(server, chance, n_clients=options.clients)
    return asyncio.run(_look(url or f"sqlite:///{folder / name}/groundwire.db", noted, options))


def _until_killed(server: Server, chance: random.Random, *, n_clients: int) -> set[str]:
    noted, ended = list[str](), threading.Event()
    clients = [
        threading.Thread(target=_ask, args=(server, noted, ended, own)) for own in range(n_clients)
    ]
    for each in clients:
        each.start()
    time.sleep(chance.uniform(0, 0.8))
    os.kill(server.pid, signal.SIGKILL)
    ended.set()
    for each in clients:
        each.join()
    return set(noted)


def _ask(server: Server, noted: list[str], ended: threading.Event, first: int) -> None:
    """Ask until there is nobody."""
    # A response that breaks off is none.
    with suppress(OSError, ValueError, IndexError), server.client() as client:
        for n in count(first):
            if ended.is_set():
                return
            response = client.post("/v1/chat/completions", {**_REQUEST, "stream": bool(n % 2)})
            if response.status != 200:
                raise SystemExit(f"status {response.status}: {response.body[:500]!r}")
            noted.append(response.headers["x-trace-id"])


async def _look(url: str, noted: set[str], options: argparse.Namespace) -> measure.Row:
    async with Store(url) as store:
        verdict = await verify_store(store, [KEY])
        async with store.reading() as connection:
            ids = select(audit_records.c.trace_id).where(audit_records.c.trace_id != "")
            kept = set(await connection.scalars(ids))
    return {
        "database": url.partition(":")[0],
        "kills": options.kills,
        "responses": len(noted),
        "recorded": len(kept),
        "lost": len(noted - kept),
        "chains": verdict.chains,
        "trail": str(verdict.status),
    }


def main() -> None:
    """Kill."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200, help="of a database")
    parser.add_argument("--clients", type=int, default=4, help="that ask at the same time")
    parser.add_argument("--postgres", metavar="URL", help="try this database as well")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the moments")
    parser.add_argument("--out", type=Path, help="write the results there")
    options = parser.parse_args()
    # Whoever ends the benchmark ends its servers too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with TemporaryDirectory() as folder, processes.upstream() as direct:
        cases = [
            ("sqlite", None),
            *([("postgresql", options.postgres)] if options.postgres else []),
        ]
        rows = [killed(name, url, direct, Path(folder), options) for name, url in cases]
    print(measure.table(rows, COLUMNS))
    bars = [
        measure.bar(
            f"responses without record, kill -9 of the gateway, {row['database']}",
            0,
            row["lost"],
            "",
        )
        for row in rows
    ]
    measure.print_bars(bars)
    machine = measure.machine("sqlalchemy", "aiosqlite", "asyncpg")
    measure.write(
        options.out, {"machine": machine, "seed": options.seed, "rows": rows, "bars": bars}
    )
    if any(row["lost"] or row["trail"] != "intact" for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
