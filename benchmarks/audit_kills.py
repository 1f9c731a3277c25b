"""kill -9 at random moments: how much of what the audit trail had promised is lost.

A process writes events, eight at a time, with ``audit.durability: before_response``; it says the
number of an event once the log has said that it is on the disk, and is killed somewhere on its way.
Then the next one starts. At the end all that was said has to be in the trail, and the trail intact.

Run it: ``python benchmarks/audit_kills.py --out benchmarks/results/audit_kills.json``; with
``--postgres URL`` (an empty database, in which the records stay) PostgreSQL is tried as well.
"""

import argparse
import asyncio
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import measure
from sqlalchemy import select

from groundwire.control.audit.verify_store import verify_store
from groundwire.control.store import Store
from groundwire.control.store.tables import audit_records

# The tests kill writers in the same way, a few times each.
sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.control.audit.killing import writers
from tests.control.audit.trails import KEY

COLUMNS = ("database", "kills", "promised", "kept", "lost", "chains", "trail")


def killed(url: str, *, kills: int, seed: int) -> measure.Row:
    """Kill writers, and look at what is there."""
    environ = {"GROUNDWIRE_STORE_URL": url, "GROUNDWIRE_AUDIT_DURABILITY": "before_response"}
    said: set[int] = set()
    with writers(environ, seed=seed) as own:
        for _ in range(kills):
            said.update(own.kill_one())
    return asyncio.run(_look(url, said, kills))


async def _look(url: str, said: set[int], kills: int) -> measure.Row:
    async with Store(url) as store:
        verdict = await verify_store(store, [KEY])
        async with store.reading() as connection:
            ids = select(audit_records.c.trace_id).where(audit_records.c.trace_id != "")
            kept = {int(each) for each in await connection.scalars(ids)}
    return {
        "database": url.partition(":")[0],
        "kills": kills,
        "promised": len(said),
        "kept": len(kept),
        "lost": len(said - kept),
        "chains": verdict.chains,
        "trail": str(verdict.status),
    }


def main() -> None:
    """Kill."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200, help="of a database")
    parser.add_argument("--postgres", metavar="URL", help="try this database as well")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the moments")
    parser.add_argument("--out", type=Path, help="write the results there")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        urls = [f"sqlite:///{folder}/audit.db", *([options.postgres] if options.postgres else [])]
        rows = [killed(url, kills=options.kills, seed=options.seed) for url in urls]
    print(measure.table(rows, COLUMNS))
    bars = [
        measure.bar(f"lost of what was promised, kill -9, {row['database']}", 0, row["lost"], "")
        for row in rows
    ]
    print(measure.table(bars, ("what", "bar", "measured", "holds")))
    machine = measure.machine("sqlalchemy", "aiosqlite", "asyncpg")
    measure.write(
        options.out, {"machine": machine, "seed": options.seed, "rows": rows, "bars": bars}
    )
    if any(row["lost"] or row["trail"] != "intact" for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
