"""``groundwire evaluate``: memory by how many rows there are, and answers a second.

Run it: ``python benchmarks/evaluate.py --data answers.jsonl.gz
--out benchmarks/results/evaluate.json``; ``--data`` is a table of labelled answers, for the reader.
Without it memory alone is measured, on generated rows with the detector ``similarity:hash``, whose
cache of sources is made small: it is bounded anyway, and would hide what grows with the rows.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import measure

#: Numbers are kept of each row, a few hundred bytes while they are scored.
BAR_GROWTH, BAR_ANSWERS_PER_S = 1.5, 8
CACHE_MB = 8
_CODE = "from groundwire.cli import main; main()"


def generate(path: Path, n_rows: int, *, words: int, seed: int) -> None:
    """Write rows of which half are hallucinated, six to a context."""
    rng = random.Random(seed)

    def text(n: int) -> str:
        names = [f"word{rng.randrange(5000)}" for _ in range(n)]
        return ". ".join(" ".join(names[i : i + 9]).capitalize() for i in range(0, n, 9)) + "."

    with path.open("w", encoding="utf-8") as stream:
        for i in range(n_rows):
            if i % 6 == 0:
                context = text(words)
            is_wrong = rng.random() < 0.5
            answer = text(27) if is_wrong else context[: context.index(".", 100) + 1]
            spans = [{"start": 0, "end": len(answer), "label": "x"}] if is_wrong else []
            row = {
                "id": f"row-{i}",
                "task": f"T{i % 3}",
                "context_id": f"context-{i // 6}",
                "context": context,
                "answer": answer,
                "spans": spans,
            }
            stream.write(json.dumps(row) + "\n")


def resident(data: Path, results: Path) -> dict[str, Any]:
    """Judge and score a file as the command does; memory of a fresh process, in megabytes."""
    from groundwire import Detector
    from groundwire.evaluation.datasets.files import fingerprints, read_labelled
    from groundwire.evaluation.evaluation import Evaluation
    from groundwire.evaluation.judged import Header
    from groundwire.evaluation.running import run

    with Detector.load("similarity:hash", cache_mb=CACHE_MB) as detector:
        header = Header(detector=detector.info, data=fingerprints(data))
        loaded = measure.resident_mb()
        began = perf_counter()
        run(detector, read_labelled(data), output=results, header=header)
        took, judged = perf_counter() - began, measure.peak_mb()
        measure.reset_peak()
        scores = Evaluation.read(results).to_dict(wall_s=took)
    return {
        "rows": scores["n"],
        "loaded_mb": loaded,
        "judging_mb": judged,
        "scoring_mb": measure.peak_mb(),
        "peak_mb": max(judged, measure.peak_mb()),
        "rows_per_s": scores["examples_per_s"],
        "scoring_s": round(perf_counter() - began - took, 1),
        "n_failed": scores["n_failed"],
    }


def evaluate(data: Path, *options: str) -> dict[str, Any]:
    """Run the command in a process of its own: its scores, and the most memory it had."""
    command = [sys.executable, "-c", _CODE, "evaluate", "--data", str(data), "--json", *options]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output)
        # What this process alone used; rusage of all children would have that of the largest.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode > 1:  # 1 is that some rows failed
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        output.seek(0)
        scores = json.load(output)
    return {
        "rows": scores["n"],
        "peak_mb": round(usage.ru_maxrss * 1024 / 1e6, 1),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
        "seconds": scores["seconds"],
        "rows_per_s": scores["examples_per_s"],
        "f1_percent": round(100 * scores["example"]["f1"], 1),
        "auroc_percent": round(100 * scores["example"]["auroc"], 1),
        "n_failed": scores["n_failed"],
    }


def main() -> None:
    """Print the tables, and write them as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="labelled answers, for the reader")
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000, 100_000])
    parser.add_argument("--words", type=int, default=120, help="words of a generated context")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    options = parser.parse_args()
    bars, memory, reader = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for n_rows in options.rows:
            path = Path(folder) / f"{n_rows}.jsonl"
            generate(path, n_rows, words=options.words, seed=options.seed)
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                memory.append(pool.submit(resident, path, path.with_suffix(".results")).result())
    if memory:
        print("similarity:hash, generated rows\n" + measure.table(memory, list(memory[0])))
        growth = memory[-1]["peak_mb"] / memory[0]["peak_mb"]
        bars.append(measure.bar("peak memory, most rows by fewest", BAR_GROWTH, growth, "times"))
    if options.data:
        reader = [evaluate(options.data)]
        print("\nreader\n" + measure.table(reader, list(reader[0])))
        speed = reader[0]["rows_per_s"]
        bars.append(measure.bar("answers", BAR_ANSWERS_PER_S, speed, "/s", at_least=True))
    measure.print_bars(bars)
    report = {
        "benchmark": "evaluate",
        "machine": measure.machine(),
        "settings": {"words": options.words, "seed": options.seed},
        "memory": memory,
        "reader": reader,
        "bars": bars,
    }
    measure.write(options.out, report)


if __name__ == "__main__":
    main()
