"""How many requests a second, and how long they take, with many connections: measured with wrk.

wrk sends the next request of a connection when it has the response to the one before, so a slow
server is asked less: times at a number of connections say what that many clients wait.
"""

import json
import re
import shutil
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from serving.overhead import PATH
from serving.processes import Server

#: What is asked of gateways that check: few and short sources, the same each time.
CHECKED: Mapping[str, Any] = {
    "metadata": {
        "grounding.sources": [
            "The tower is 330 metres tall and was built in 1889.",
            "It is made of iron, and painted every seven years.",
        ]
    }
}
COLUMNS = ("server", "answer", "connections", "n", "per_s", "p50_ms", "p99_ms", "errors")

_SCRIPT = """
wrk.method = "POST"
wrk.body = [==[%s]==]
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer %s"
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    'RESULT {"n": %%d, "us": %%d, "p50_us": %%d, "p99_us": %%d, "errors": %%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
"""
_RESULT = re.compile(r"^RESULT (\{.*\})$", re.MULTILINE)


def is_there() -> bool:
    """Whether wrk is installed."""
    return shutil.which("wrk") is not None


def load(
    servers: Sequence[Server],
    answer: str,
    body: Mapping[str, Any],
    *,
    connections: Sequence[int],
    seconds: float,
    rounds: int,
    folder: Path,
) -> list[dict[str, Any]]:
    """Rows of medians over rounds; in each round the servers take turns.

    Args:
        servers: Asked the same.
        answer: What the rows call it.
        body: Of each request.
        connections: How many at a time.
        seconds: Of each run.
        rounds: Runs of each.
        folder: For the script.
    """
    rows = []
    for n in connections:
        runs: dict[str, list[dict[str, float]]] = {server.name: [] for server in servers}
        for _ in range(rounds):
            for server in servers:
                runs[server.name].append(_run(server, body, n, seconds, folder))
        rows += [_row(server.name, answer, n, runs[server.name]) for server in servers]
    return rows


def _run(
    server: Server, body: Mapping[str, Any], connections: int, seconds: float, folder: Path
) -> dict[str, float]:
    script = folder / "post.lua"
    script.write_text(_SCRIPT % (json.dumps(body), server.key or "none"), "utf-8")
    where = f"http://127.0.0.1:{server.port}{PATH}"
    sizes = ["-t1", f"-c{connections}", f"-d{seconds:g}s", "--timeout", "30s"]
    done = subprocess.run(
        ["wrk", *sizes, "-s", str(script), where], capture_output=True, text=True, check=False
    )
    found = _RESULT.search(done.stdout)
    if found is None:
        raise SystemExit(f"wrk failed: {done.stdout}{done.stderr}")
    result: dict[str, float] = json.loads(found[1])
    return result


def _row(
    name: str, answer: str, connections: int, runs: Sequence[Mapping[str, float]]
) -> dict[str, Any]:
    def median(values: Sequence[float], digits: int) -> float:
        return round(statistics.median(values), digits)

    return {
        "server": name,
        "answer": answer,
        "connections": connections,
        "n": int(sum(run["n"] for run in runs)),
        "per_s": median([1e6 * run["n"] / run["us"] for run in runs], 1),
        "p50_ms": median([run["p50_us"] / 1000 for run in runs], 2),
        "p99_ms": median([run["p99_us"] / 1000 for run in runs], 2),
        "errors": int(sum(run["errors"] for run in runs)),
    }
