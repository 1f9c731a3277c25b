"""Rows a second of ``groundwire evaluate``: this process and worker processes.

Run it: ``python benchmarks/scale.py --out benchmarks/results/scale.json``. Rates
are of what comes after the first fifth of the rows: models are loaded and workers started by then.
What the start took is told beside.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import measure
from evaluate_memory import write_rows

from groundwire.detection.values import DetectorInfo
from groundwire.evaluation.datasets.files import read_labelled
from groundwire.evaluation.evaluation import Evaluation
from groundwire.evaluation.judged_row import Header
from groundwire.evaluation.judging import Judging
from groundwire.evaluation.loading import DetectorChoice, load_detector
from groundwire.evaluation.run import here, run
from groundwire.evaluation.scale.processes import on_processes
from groundwire.evaluation.scale.workers import Recipe

#: Two workers are to do so much of what twice one worker does.
BAR_EFFICIENCY_PERCENT = 80
#: What a clock says.
_TIMES = ("seconds", "examples_per_s", "latency_ms")


def measured(
    judging: Judging, data: Path, folder: Path, info: DetectorInfo, block_rows: int
) -> dict[str, Any]:
    """Seconds to the first fifth, and rows a second from there on."""
    times: list[float] = []
    output = folder / "results.jsonl"
    began = perf_counter()
    run(
        judging,
        read_labelled(data),
        output=output,
        header=Header(detector=info, data={}),
        replace=True,
        on_row=lambda _: times.append(perf_counter()),
        block_rows=block_rows,
    )
    first = len(times) // 5
    scores = Evaluation.read(output).to_dict()
    return {
        "rows": len(times),
        "rows_per_s": round((len(times) - first) / (times[-1] - times[first - 1]), 2),
        "start_s": round(times[0] - began, 1),
        "scores": json.dumps({name: scores[name] for name in scores if name not in _TIMES}),
    }


def engines(choice: DetectorChoice, info: DetectorInfo) -> dict[str, Callable[[], Judging]]:
    """What is measured, by name."""
    recipe = Recipe(load=load_detector, choice=choice, info=info)
    return {
        "one process, 1 thread": lambda: here(
            load_detector(DetectorChoice(model=choice.model, threads=1))
        ),
        "one process, 2 threads": lambda: here(
            load_detector(DetectorChoice(model=choice.model, threads=2))
        ),
        "1 worker process": partial(on_processes, recipe, 1),
        "2 worker processes": partial(on_processes, recipe, 2),
    }


def main() -> None:
    """Print the tables, and write them as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--rows", type=int, default=480)
    parser.add_argument("--block", type=int, default=24, help="rows that go to a worker at a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, help="labelled answers in place of made-up ones")
    parser.add_argument("--detectors", nargs="+", default=["reader"])
    options = parser.parse_args()
    machine = measure.machine()
    rows, bars = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = options.data or folder / "data.jsonl"
        if options.data is None:
            write_rows(data, options.rows, n_answers=6, seed=options.seed)
        for model in options.detectors:
            choice = DetectorChoice(model=model, threads=1)
            info = load_detector(choice).info
            found = {
                what: measured(engine(), data, folder, info, options.block)
                for what, engine in engines(choice, info).items()
            }
            if len({each.pop("scores") for each in found.values()}) > 1:
                raise SystemExit("The engines do not give the same numbers.")
            rows += [{"detector": model, "engine": what} | row for what, row in found.items()]
            one, two = (
                found[f"{n} worker {what}"]["rows_per_s"]
                for n, what in ((1, "process"), (2, "processes"))
            )
            what = f"two worker processes, against twice one, {model}"
            bars.append(
                measure.bar(what, BAR_EFFICIENCY_PERCENT, 50 * two / one, "%", at_least=True)
            )
    print(measure.table(rows, ("engine", "detector", "rows", "rows_per_s", "start_s")))
    measure.print_bars(bars)
    report = {
        "benchmark": "scale",
        "machine": machine,
        "settings": {name: getattr(options, name) for name in ("rows", "block", "seed")},
        "rows": rows,
        "bars": bars,
    }
    measure.write(options.out, report)


if __name__ == "__main__":
    main()
