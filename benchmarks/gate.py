"""How long the gate takes on a prompt, one at a time.

Run it: ``python benchmarks/gate.py --out benchmarks/results/gate.json``
"""

import argparse
from pathlib import Path
from time import process_time

import measure

from groundwire.engine.tokenizer import WordPieces
from groundwire.gate import Gate
from groundwire.models import DEFAULT_MODEL, find_model

BAR_MS = 5.0
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
    gate = Gate.load()
    pieces = WordPieces(find_model(DEFAULT_MODEL).folder / "tokenizer.json")
    for prompt in PROMPTS:
        gate.classify(prompt)
    rows = []
    for prompt in PROMPTS:
        times: list[float] = []
        began = process_time()
        for _ in range(options.rounds // 20):
            times += quiet.run(lambda prompt=prompt: _times(gate, prompt, 20))  # type: ignore[misc]
        cpu = (process_time() - began) * 1000 / len(times)
        row = {"what": prompt[:40], "word_pieces": len(pieces.encode(prompt))}
        rows.append(
            row
            | measure.summary(times)
            | {
                "p99": round(measure.percentile(times, 0.99), 2),
                "cpu": round(cpu, 2),  # time of this process: others disturb it less
            }
        )
    print(measure.table(rows, ("what", "word_pieces", "n", "median", "q1", "q3", "p99", "cpu")))
    slowest = max(row["median"] for row in rows)
    bars = [measure.bar("classify, about 30 word pieces, P50", BAR_MS, slowest, "ms")]
    measure.print_bars(bars)
    report = {"benchmark": "gate", "machine": machine, "rows": rows, "bars": bars}
    measure.write(options.out, report | quiet.to_dict())


def _times(gate: Gate, prompt: str, n: int) -> list[float]:
    return [measure.milliseconds(lambda: gate.classify(prompt)) for _ in range(n)]


if __name__ == "__main__":
    main()
