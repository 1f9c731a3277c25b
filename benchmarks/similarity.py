"""How long the similarity detector takes to embed sources that it has not seen before.

Run it: ``python benchmarks/similarity.py --out benchmarks/results/similarity.json``
"""

import argparse
from itertools import count
from pathlib import Path
from time import process_time

import corpus
import measure

from groundwire import Detector

ANSWER = "The harbour was closed for three weeks in that winter. Nobody was hurt by the storm."


def main() -> None:
    """Print the table, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--characters", type=int, default=100_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    machine = measure.machine()
    rows = []
    for threads in options.threads:
        with Detector.load("similarity", threads=threads) as detector:
            detector.detect(sources=["Ready."], answer=ANSWER)
            rows.append(_row(detector, threads, options.characters, options.rounds))
    columns = ("threads", "characters", "texts", "n", "median", "q1", "q3", "cpu_s")
    print(measure.table(rows, columns))
    measure.write(options.out, {"benchmark": "similarity", "machine": machine, "rows": rows})


def _row(detector: Detector, threads: int, n_characters: int, rounds: int) -> measure.Row:
    seeds = count()
    times, n_texts = [], 0
    cpu = 0.0
    for _ in range(rounds):
        source = _source(n_characters, next(seeds))
        embedded, began = detector.work["texts_embedded"], process_time()
        times.append(
            measure.milliseconds(
                lambda source=source: detector.detect(sources=[source], answer=ANSWER)  # type: ignore[misc]
            )
            / 1000
        )
        cpu += process_time() - began
        n_texts = detector.work["texts_embedded"] - embedded
    return {
        "threads": threads,
        "characters": n_characters,
        "texts": n_texts,
        **measure.summary(times),
        "cpu_s": round(cpu / rounds, 2),  # of this process: others disturb it less
    }


def _source(n_characters: int, seed: int) -> str:
    found: list[str] = []
    for paragraph in corpus.paragraphs(seed):
        found.append(paragraph)
        if sum(map(len, found)) >= n_characters:
            break
    return "\n\n".join(found)[:n_characters]


if __name__ == "__main__":
    main()
