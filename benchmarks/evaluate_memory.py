"""Memory of ``groundwire evaluate`` over ever more rows: the most that its process ever had.

Run it: ``python benchmarks/evaluate_memory.py --out benchmarks/results/evaluate_memory.json``. The
detector is ``similarity:hash``, so that what is measured is the command and no model.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import measure

#: How much more memory a hundred times the rows may take.
BAR_GROWTH_PERCENT = 25
_WORDS = (
    *("the", "museum", "of", "town", "opened", "its", "new", "hall", "beside", "river", "in"),
    *("spring", "and", "counts", "many", "visitors", "from", "other", "countries", "every"),
    *("year", "although", "old", "tower", "is", "closed", "since", "1889"),
)
_CODE = "from groundwire.cli import main; main()"


def write_rows(path: Path, n_rows: int, *, n_answers: int, seed: int) -> None:
    """A file of labelled answers, so many to a context."""
    rng = Random(seed)

    def text(n_sentences: int) -> str:
        sentences = (" ".join(rng.choices(_WORDS, k=12)) for _ in range(n_sentences))
        return " ".join(f"{sentence.capitalize()}." for sentence in sentences)

    sources: list[str] = []
    with path.open("w", encoding="utf-8") as stream:
        for i in range(n_rows):
            if i % n_answers == 0:
                sources = [text(5) for _ in range(3)]
            spans = [{"start": 0, "end": 10, "label": "conflict"}] if rng.random() < 0.4 else []
            row = {
                "id": f"answer-{i}",
                "task": f"task-{i // n_answers % 3}",
                "context_id": f"context-{i // n_answers}",
                "sources": sources,
                "question": text(1),
                "answer": text(3),
                "spans": spans,
            }
            stream.write(json.dumps(row) + "\n")


def evaluated(data: Path, folder: Path) -> dict[str, Any]:
    """Peak megabytes and seconds of a process that evaluates a file."""
    command = [sys.executable, "-c", _CODE, "evaluate", "--data", str(data), "--json"]
    command += ["--detector", "similarity:hash", "--output", str(folder / "results.jsonl")]
    began = perf_counter()
    with (folder / "scores.json").open("wb") as scores:
        process = subprocess.Popen([*command, "--force"], stdout=scores)
        _, status, used = os.wait4(process.pid, 0)
    took = perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"groundwire evaluate ended with {process.returncode}.")
    found = json.loads((folder / "scores.json").read_text("utf-8"))
    return {
        "rows": found["n"],
        "peak_mb": round(used.ru_maxrss * 1024 / 1e6, 1),  # Linux counts kilobytes
        "seconds": round(took, 1),
        "rows_per_s": round(found["n"] / took, 1),
    }


def main() -> None:
    """Print the table, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--answers", type=int, default=6, help="answers to a context")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    machine = measure.machine()
    rows = []
    for n_rows in options.rows:
        with tempfile.TemporaryDirectory() as name:
            data = Path(name) / "data.jsonl"
            write_rows(data, n_rows, n_answers=options.answers, seed=options.seed)
            rows.append(evaluated(data, Path(name)))
            print(measure.table(rows[-1:], ("rows", "peak_mb", "seconds", "rows_per_s")))
    growth = 100 * (rows[-1]["peak_mb"] / rows[0]["peak_mb"] - 1)
    what = f"memory of evaluate, growth from {rows[0]['rows']:,} to {rows[-1]['rows']:,} rows"
    bars = [measure.bar(what, BAR_GROWTH_PERCENT, growth, "%")]
    measure.print_bars(bars)
    report = {
        "benchmark": "evaluate_memory",
        "machine": machine,
        "settings": {"answers": options.answers, "seed": options.seed},
        "rows": rows,
        "bars": bars,
    }
    measure.write(options.out, report)


if __name__ == "__main__":
    main()
