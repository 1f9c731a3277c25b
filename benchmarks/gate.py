"""How long the gate takes on a prompt, one at a time.

Run it: ``python benchmarks/gate.py --out benchmarks/results/gate.json``
"""

import argparse
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import measure

from groundwire.engine.models import DEFAULT_MODEL, find_model
from groundwire.engine.tokenizer import WordPieces
from groundwire.policy.gate import Gate

BAR_MS = 5.0
_AT_A_TIME = 20
#: About 30 word pieces each; the length that was found is in the result.
PROMPTS = (
    "I'm writing about the history of astronomy: when did Galileo first see the moons of Jupiter, "
    "and which telescope did he use for that in Padua?",
    "Write a short and cheerful poem about autumn leaves that dance over a quiet harbour in the "
    "evening, with four lines and a rhyme at the end.",
    "Could you explain to me how a heat pump works, how much electricity it needs in a year, and "
    "whether it pays off in an old house?",
)


def main() -> None:
    """Print the table, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--patience", type=float, default=60, help=measure.PATIENCE)
    options = parser.parse_args()
    machine = measure.machine()
    quiet = measure.Quiet(options.patience)
    pieces = WordPieces(find_model(DEFAULT_MODEL).folder / "tokenizer.json")
    rows, bars = [], []
    for threads in (1, None):
        gate = Gate.load(threads=threads)
        name = "default" if threads is None else threads
        found = [_row(gate, prompt, options.rounds, quiet) for prompt in PROMPTS]
        rows += [
            {"threads": name, "word_pieces": len(pieces.encode(prompt)), **row}
            for prompt, row in zip(PROMPTS, found, strict=True)
        ]
        slowest = max(row["median"] for row in found)
        what = f"gate, about 30 word pieces, {name} threads, P50".replace("1 threads", "1 thread")
        bars.append(measure.bar(what, BAR_MS, slowest, "ms"))
    columns = (
        "what",
        "threads",
        "word_pieces",
        "n",
        "median",
        "q1",
        "q3",
        "p99",
        "quietest",
        "cpu",
    )
    print(measure.table(rows, columns))
    measure.print_bars(bars)
    report = {"benchmark": "gate", "machine": machine, "rows": rows, "bars": bars}
    measure.write(options.out, report | quiet.to_dict())


def _row(gate: Gate, prompt: str, rounds: int, quiet: measure.Quiet) -> dict[str, Any]:
    times: list[float] = []
    blocks: list[float] = []
    cpu: list[float] = []
    gate.classify(prompt)
    for _ in range(rounds // _AT_A_TIME):
        wall, used = quiet.run(lambda: _times(gate, prompt))
        times += wall
        blocks.append(median(wall))
        cpu.append(used)
    return {
        "what": prompt[:40],
        **measure.summary(times),
        "p99": round(measure.percentile(times, 0.99), 2),
        # The median of the twenty calls in a row that others disturbed least.
        "quietest": round(min(blocks), 2),
        # Time of this process, whoever else has the processor: the median of blocks.
        "cpu": round(median(cpu), 2),
    }


def _times(gate: Gate, prompt: str) -> tuple[list[float], float]:
    began = process_time()
    times = [measure.milliseconds(lambda: gate.classify(prompt)) for _ in range(_AT_A_TIME)]
    return times, (process_time() - began) * 1000 / _AT_A_TIME


if __name__ == "__main__":
    main()
