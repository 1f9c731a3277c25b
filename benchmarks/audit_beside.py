"""The audit trail under full load, beside the data plane's: what each costs the other.

A gateway checks streams side by side, whose sources it has read before, and keeps its own audit
trail in SQLite. In every second round another process offers 2,100 events a second to the same
database, as long as the streams last; those are counted that are kept by then. Rows: what checking
adds to a stream, without and with that writer; and what the writer could write, and had waiting at
most. Rounds take turns.

Run it: ``python benchmarks/audit_beside.py --out benchmarks/results/audit_beside.json``
"""

import argparse
import asyncio
import json
import random
import signal
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import measure
from audit_writes import BAR_PER_S, event, opened
from serving import added, processes

from gateway import CASES, UNREPORTED, grounded

KEY = "k" * 32
#: Events a second that are offered: a little more than must be kept, for what is kept is counted.
PACE_PER_S = 2100
ALONE, BESIDE = "without", "beside 2,100 events a second"
WRITER_COLUMNS = ("round", "per_s", "most_waiting", "cpu_share", "without_detail", "seconds")


async def write(url: str, is_over: threading.Event) -> dict[str, float]:
    """Offer events at an even pace, until it is over."""
    log, most = await opened(url, "batched"), 0
    begin, cpu = time.perf_counter(), time.process_time()
    for number in count():
        if (left := begin + number / PACE_PER_S - time.perf_counter()) > 0:
            await asyncio.sleep(left)
        if is_over.is_set():
            break
        await log.write(event(number))
        most = max(most, log.stats.depth)
    written = number - log.stats.depth
    took = time.perf_counter() - begin
    share = 100 * (time.process_time() - cpu) / took
    if lost := await log.close():
        raise SystemExit(f"{lost} events were lost")
    return {
        "per_s": round(written / took),
        "most_waiting": most,
        "cpu_share": round(share, 1),
        "without_detail": log.stats.n_without_detail,
        "seconds": round(took, 1),
    }


class Writer:
    """The other process: it writes until it is told to end."""

    def __init__(self, url: str) -> None:
        """Start it, and wait until it writes."""
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--write", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def end(self) -> dict[str, float]:
        """What it could write."""
        said, _ = self._process.communicate(timeout=60)
        if self._process.returncode:
            raise SystemExit("the writer failed")
        told: dict[str, float] = json.loads(said)
        return told


def _as_writer(url: str) -> None:
    is_over = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        is_over.set()

    threading.Thread(target=wait, daemon=True).start()
    print(json.dumps(asyncio.run(write(url, is_over))))


def measured(
    folder: Path, options: argparse.Namespace
) -> tuple[list[measure.Row], list[measure.Row]]:
    """What is added to streams, and what the writer could write."""
    settings: dict[str, Any] = {
        **CASES["block, sentence"],
        **UNREPORTED,
        "audit": {"path": None, "key": KEY},
    }
    url = f"sqlite:///{folder / 'gateway'}/groundwire.db"
    found: dict[str, list[added.Timing]] = {ALONE: [], BESIDE: []}
    wrote: list[measure.Row] = []
    with (
        processes.upstream() as direct,
        processes.gateway("gateway", direct, folder, settings) as server,
    ):
        samples = grounded(options.tokens, seed=options.seed)
        streams = added.Streams(direct, samples, per_s=options.per_s)
        for number in range(2 * options.rounds):
            writer = Writer(url) if number % 2 else None
            found[BESIDE if writer else ALONE] += added.side_by_side(
                streams,
                server,
                n_streams=options.streams,
                n_answers=options.answers,
                is_warm=True,
                rng=random.Random(options.seed + number // 2),
            )
            if writer:
                wrote.append({"round": number // 2 + 1, **writer.end()})
    case = f"{options.streams} streams, warm"
    return [added.row(name, case, timings) for name, timings in found.items()], wrote


def main() -> None:
    """Measure."""
    options = _options()
    if options.write:
        _as_writer(options.write)
        return
    # Whoever ends the benchmark ends its servers too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with TemporaryDirectory(dir=options.folder) as folder:
        rows, wrote = measured(Path(folder), options)
    print(measure.table(rows, added.COLUMNS))
    print(measure.table(wrote, WRITER_COLUMNS))
    slowest = min(row["per_s"] for row in wrote)
    what = f"audit events a second into SQLite, beside {options.streams} checked streams"
    bars = [
        measure.bar(what, BAR_PER_S, slowest, "/s", at_least=True),
        measure.bar("added beside them, warm, P50", 60, rows[1]["p50"], "ms"),
        measure.bar("added beside them, warm, P99", 250, rows[1]["p99"], "ms"),
    ]
    measure.print_bars(bars)
    machine = measure.machine("sqlalchemy", "aiosqlite")
    measure.write(options.out, {"machine": machine, "rows": rows, "writer": wrote, "bars": bars})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="of each of the two")
    parser.add_argument("--streams", type=int, default=16, help="at a time")
    parser.add_argument("--answers", type=int, default=2, help="of each stream in a round")
    parser.add_argument("--tokens", type=int, default=4000, help="word pieces of context")
    parser.add_argument("--per-s", type=float, default=50, help="tokens that are written a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the database is made")
    parser.add_argument("--out", type=Path, help="write the results there")
    parser.add_argument("--write", metavar="URL", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
