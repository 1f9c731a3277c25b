"""Time the reduction of word piece scores to spans: the fast path against the plain one.

Each gets the input it is made for: arrays the one, lists the other. Both run in turn, in one
process, so the ratio holds on a machine that is busy with other things.

Run it: ``python benchmarks/spans.py --out benchmarks/results/spans.json``
"""

import argparse
import gc
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import measure
import numpy as np
from tests.detection.plain_reduction import reduce_tokens_plain

from groundwire.detection.spans import reduce_tokens

THRESHOLD = 0.95
#: Times faster at 400 tokens with 5 % flagged.
BAR, BAR_AT = 2.7, 400


def answer(n_tokens: int, share: float, run: int, seed: int) -> tuple[str, list[int], list[float]]:
    """Make an answer of words, and scores that flag a share of them in runs of a given length."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdefgh", k=rng.randint(1, 8))) for _ in range(n_tokens)]
    starts = [0]
    for word in words[:-1]:
        starts.append(starts[-1] + len(word) + 1)
    n_runs = max(1, round(n_tokens * share / run))
    flagged = {
        slot * (n_tokens // n_runs) + i for slot in range(n_runs) for i in range(run)
    }  # evenly spread, so that no two runs touch
    scores = [
        rng.uniform(0.96, 1.0) if i in flagged else rng.uniform(0.0, 0.9) for i in range(n_tokens)
    ]
    return " ".join(words), starts, scores


def microseconds(call: Callable[[], object], repeats: int) -> float:
    """Mean time of one call over ``repeats`` of them."""
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats * 1e6


def compare(
    n_tokens: int, run: int, rounds: int, quiet: measure.Quiet, share: float = 0.05
) -> dict[str, float | int]:
    """Median times of both paths and of their ratio, over rounds that interleave them."""
    text, starts, score_list = answer(n_tokens, share, run, seed=n_tokens + run)
    words = text.split(" ")
    offset_list = [(s, s + len(word)) for s, word in zip(starts, words, strict=True)]
    offsets = np.array(offset_list, dtype=np.int32)
    scores = np.array(score_list, dtype=np.float32)
    score_list = scores.tolist()

    def fast() -> object:
        return reduce_tokens(offsets, scores, text, threshold=THRESHOLD)

    def plain() -> object:
        return reduce_tokens_plain(offset_list, score_list, text, threshold=THRESHOLD)

    if fast() != plain():
        raise SystemExit("the two paths disagree, so their times mean nothing")
    pairs = quiet.run(
        lambda: [(microseconds(fast, 100), microseconds(plain, 100)) for _ in range(rounds)]
    )
    reduction = reduce_tokens(offsets, scores, text, threshold=THRESHOLD)
    return {
        "n_tokens": n_tokens,
        "n_flagged": reduction.n_flagged,
        "n_spans": len(reduction.spans),
        "fast_us": round(statistics.median(fast_us for fast_us, _ in pairs), 2),
        "plain_us": round(statistics.median(plain_us for _, plain_us in pairs), 2),
        "ratio": round(statistics.median(plain_us / fast_us for fast_us, plain_us in pairs), 2),
    }


def main() -> None:
    """Print the table, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--patience", type=float, default=300, help=measure.PATIENCE)
    options = parser.parse_args()
    machine = measure.machine()
    quiet = measure.Quiet(options.patience)
    gc.disable()
    rows = [
        compare(n_tokens, run, options.rounds, quiet)
        for n_tokens in (30, 400, 4000)
        for run in (1, 4)
    ]
    print(measure.table(rows, list(rows[0])))
    ratio = min(row["ratio"] for row in rows if row["n_tokens"] == BAR_AT)
    what = f"spans of {BAR_AT} tokens, 5 % flagged, against the plain path"
    bars = [measure.bar(what, BAR, ratio, "×", at_least=True)]
    measure.print_bars(bars)
    report = {
        "benchmark": "spans",
        "machine": machine,
        "rounds": options.rounds,
        "rows": rows,
        "bars": bars,
        **quiet.to_dict(),
    }
    measure.write(options.out, report)


if __name__ == "__main__":
    main()
