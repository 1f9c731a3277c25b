"""The gateway as clients see it: processes of its own, HTTP over the loopback interface.

``groundwire serve`` stands before a scripted upstream (``serving/upstream.py``), beside LiteLLM's
proxy where that is installed; client, proxies and upstream share the machine. Parts:

- overhead: what a proxy adds to a request that it does not check, one connection;
- load: requests a second and their times with many connections (needs wrk);
- added: what checking adds to a streamed answer, for one stream and for sixteen;
- memory: what the gateway takes over thousands of requests;
- leaving: what is left of clients that leave before they have their answers.

Run it: ``python benchmarks/gateway.py --out benchmarks/results/gateway.json --litellm
VENV/bin/litellm``, where VENV is a virtual environment in which ``litellm[proxy]`` was installed;
``--parts added`` and the like measure some of it, and keep the rest of the file.
"""

import argparse
import json
import random
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import corpus
import measure
from serving import added, leaving, load, memory, overhead, processes
from serving.processes import Server

Part = dict[str, Any]

OFF: Mapping[str, Any] = {"check": {"enabled": False}}
#: What is done about findings, and how; each is a gateway of its own.
CASES: Mapping[str, Mapping[str, Any]] = {
    "log": {"check": {"action": "log"}},
    "header": {"check": {"action": "header"}},
    "block, sentence": {"check": {"action": "block"}},
    "block, deferred": {"check": {"action": "block"}, "gateway": {"release": "deferred"}},
}
#: Of these: findings are read twice, and then not reported, so that no stream ends early.
UNREPORTED: Mapping[str, Any] = {"detector": {"min_probability": 1, "cache_mb": 1500}}
BARS_MS = {
    "1 stream, cold": {"p50": 15, "p99": 40},
    "warm": {"p50": 60, "p99": 250},
}
#: Memory is flat if it grows by no more than this over the last three quarters of the requests.
MAX_GROWTH = 0.02


def measure_overhead(stack: ExitStack, folder: Path, options: argparse.Namespace) -> Part:
    """What a proxy adds to a request that it does not check."""
    direct, proxies, notes = _proxies(stack, folder, options)
    rows = overhead.overhead(direct, proxies, rounds=options.requests)
    print(measure.table(rows, overhead.COLUMNS))
    by_name = {(row["server"], row["answer"]): row.get("added_p50_ms") for row in rows}
    bars = []
    for answer in overhead.KINDS:
        ours, theirs = (by_name.get((name, answer)) for name in ("Groundwire", "LiteLLM"))
        bars.append(measure.bar(f"overhead without checks, {answer}, P50", 2, ours, "ms"))
        if ours is not None:
            times = None if theirs is None else theirs / ours
            what = f"the same, times less than LiteLLM's, {answer}"
            bars.append(measure.bar(what, 1, times, "×", at_least=True))
    return {"rows": rows, "bars": bars, **notes}


def measure_load(stack: ExitStack, folder: Path, options: argparse.Namespace) -> Part:
    """Requests a second and their times with many connections."""
    if not load.is_there():
        print("not measured: wrk is not installed (apt-get install wrk)")
        return {"rows": [], "not_measured": "wrk is not installed"}
    direct, proxies, notes = _proxies(stack, folder, options)
    run = partial(
        load.load,
        connections=options.connections,
        seconds=options.seconds,
        rounds=options.rounds,
        folder=folder,
    )
    rows = [
        row
        for answer, body in overhead.KINDS.items()
        for row in run((direct, *proxies), answer, body)
    ]
    checking = [
        stack.enter_context(processes.gateway(f"Groundwire, {name}", direct, folder, CASES[name]))
        for name in ("log", "block, sentence")
    ]
    for answer, body in overhead.KINDS.items():
        rows += run(checking, f"{answer}, checked", {**body, **load.CHECKED})
    print(measure.table(rows, load.COLUMNS))
    errors = sum(row["errors"] for row in rows if row["server"] != "LiteLLM")
    return {"rows": rows, "bars": [measure.bar("errors under load", 0, errors, "")], **notes}


def measure_added(stack: ExitStack, folder: Path, options: argparse.Namespace) -> Part:
    """What checking adds to a streamed answer."""
    direct = stack.enter_context(processes.upstream())
    taken = grounded(options.tokens, seed=options.seed)
    streams = added.Streams(direct, taken, per_s=options.per_s)
    with ExitStack() as alone:
        checking = [alone.enter_context(_checking(name, direct, folder)) for name in CASES]
        rows = added.one_at_a_time(streams, (direct, *checking), rounds=options.alone)
    rng, n = random.Random(options.seed), options.streams
    for is_warm, names in ((True, tuple(CASES)), (False, ("block, sentence",))):
        case = f"{n} streams, {'warm' if is_warm else 'cold'}"
        for name in names:
            with _checking(name, direct, folder) as server:
                call = partial(
                    added.side_by_side,
                    streams,
                    server,
                    n_streams=n,
                    n_answers=options.answers,
                    is_warm=is_warm,
                    rng=rng,
                )
                rows.append(added.row(name, case, added.in_rounds(call, options.rounds)))
    print(measure.table(rows, added.COLUMNS))
    return {"rows": rows, "bars": list(_added_bars(rows))}


def _added_bars(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        for ending, limits in BARS_MS.items():
            if row["server"] in CASES and row["case"].endswith(ending):
                for share, limit in limits.items():
                    what = f"added over HTTP, {row['case']}, {row['server']}, {share.upper()}"
                    yield measure.bar(what, limit, row[share], "ms")


def measure_memory(stack: ExitStack, folder: Path, options: argparse.Namespace) -> Part:
    """What the gateway takes over thousands of requests."""
    direct = stack.enter_context(processes.upstream())
    server = stack.enter_context(processes.gateway("memory", direct, folder, memory.SETTINGS))
    rows = memory.memory(
        server, n_requests=options.memory_requests, n_samples=40, seed=options.seed
    )
    print(measure.table(rows, memory.COLUMNS))
    grown = memory.growth(rows)
    bar = measure.bar(
        f"memory, growth over {options.memory_requests:,} requests, once settled",
        100 * MAX_GROWTH,
        100 * grown["share"],
        "%",
    )
    return {"rows": rows, "growth": grown, "bars": [bar]}


def measure_leaving(stack: ExitStack, folder: Path, options: argparse.Namespace) -> Part:
    """What is left of clients that leave before they have their answers."""
    direct = stack.enter_context(processes.upstream())
    rows = []
    for name in CASES:
        with _checking(name, direct, folder) as server:
            found = leaving.leaving(server, direct, n_clients=options.clients, seed=options.seed)
            rows.append({"server": name, **found})
    left = sum(
        max(0, row["after"][what] - row["before"][what])
        for row in rows
        for what in ("files", *leaving.WATCHED)
    ) + sum(row["after"]["upstream_open"] for row in rows)
    for row in rows:
        print(json.dumps(row))
    return {"rows": rows, "bars": [measure.bar("left of clients that left", 0, left, "")]}


PARTS: Mapping[str, Callable[[ExitStack, Path, argparse.Namespace], Part]] = {
    "overhead": measure_overhead,
    "load": measure_load,
    "added": measure_added,
    "memory": measure_memory,
    "leaving": measure_leaving,
}


def _proxies(
    stack: ExitStack, folder: Path, options: argparse.Namespace
) -> tuple[Server, list[Server], dict[str, Any]]:
    """The upstream, the proxies before it that check nothing, and what is to be said of them."""
    direct = stack.enter_context(processes.upstream())
    proxies = [stack.enter_context(processes.gateway("Groundwire", direct, folder, OFF))]
    if options.litellm is None or not options.litellm.exists():
        print("not measured: LiteLLM; --litellm names no command")
        return direct, proxies, {"litellm": None}
    proxies.append(stack.enter_context(processes.litellm(options.litellm, direct, folder)))
    return direct, proxies, {"litellm": processes.litellm_version(options.litellm)}


def _checking(name: str, direct: Server, folder: Path) -> Any:  # noqa: ANN401 - a context
    return processes.gateway(name, direct, folder, {**CASES[name], **UNREPORTED})


def grounded(n_context: int, *, seed: int) -> Iterator[corpus.Sample]:
    """Samples whose answers say nothing wrong; the detector may doubt one all the same."""
    for n in count(seed):
        yield corpus.synthesize(n_context, seed=n, wrong=0.0)


def main() -> None:
    """Measure the parts that are asked for, and write them as JSON where asked."""
    options = _options()
    # Whoever ends the benchmark ends its servers too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    kept: dict[str, Any] = {}
    if options.out is not None and options.out.exists():
        kept = json.loads(options.out.read_text("utf-8"))["parts"]
    for name in options.parts:
        print(f"\n{name}")
        with ExitStack() as stack, TemporaryDirectory() as folder:
            made = PARTS[name](stack, Path(folder), options)
        measure.print_bars(made.get("bars", ()))
        settings = {key: value for key, value in vars(options).items() if key in _SETTINGS[name]}
        kept[name] = {"settings": settings, **made}
        bars = [bar for part in PARTS for bar in kept.get(part, {}).get("bars", ())]
        report = {
            "benchmark": "gateway",
            "machine": measure.machine("aiohttp", "fastapi", "starlette", "uvicorn", "uvloop"),
            "parts": {part: kept[part] for part in PARTS if part in kept},
            "bars": bars,
        }
        measure.write(options.out, report)


_SETTINGS = {
    "overhead": ("requests",),
    "load": ("connections", "seconds", "rounds"),
    "added": ("tokens", "per_s", "alone", "streams", "answers", "rounds", "seed"),
    "memory": ("memory_requests", "seed"),
    "leaving": ("clients", "seed"),
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--litellm", type=Path, help="LiteLLM's command, of an environment its own")
    parser.add_argument("--requests", type=int, default=1000, help="of each server, for overhead")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--seconds", type=float, default=5, help="of a run under load")
    parser.add_argument("--rounds", type=int, default=3, help="of load and of streams at a time")
    parser.add_argument("--tokens", type=int, default=4000, help="word pieces of context")
    parser.add_argument("--per-s", type=float, default=50, help="tokens that are written a second")
    parser.add_argument("--alone", type=int, default=25, help="single streams of each gateway")
    parser.add_argument("--streams", type=int, default=16, help="at a time")
    parser.add_argument("--answers", type=int, default=2, help="of each stream in a round")
    parser.add_argument("--memory-requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=500, help="that leave, of each gateway")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
