"""``detect()`` against one pass of a token classifier over the same text.

Each pass of a classifier is followed by some calls of ``detect()``, with sources not seen before
(cold) and with sources that were read (warm); ratios are of such neighbours. A classifier's pass
is its forward pass alone: cutting the text into tokens is left out. Warm means that the sources are
in the cache; what was kept of the answer's own sentences is forgotten before each call.

Run it: ``python benchmarks/joint.py --cache .cache/peers --out benchmarks/results/joint.json``
"""

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import measure
from corpus import Sample, samples, word_pieces
from peers import BERT, MODERNBERT, Peer, peers

from groundwire.detector import Detector
from groundwire.engine.roles import TextRole

CASES = ("warm", "cold")
#: Times less than the best of a ModernBERT-base classifier at this context.
BARS = {"warm": 100, "cold": 15}
BARS_AT = 4000
#: Passes of a classifier, however long one takes: one alone is no median.
_LEAST = 3


class Ours:
    """``detect()`` over one text, as ``Detector.load()`` comes."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self._detectors = {case: Detector.load() for case in CASES}
        self._tenants = count()
        self._before: dict[str, int] = {}
        for case in CASES:  # the first call of a process is no other's
            self.call_ms(case)
        self._before = self._work()

    def call_ms(self, case: str) -> float:
        """Time of one call."""
        detector = self._detectors[case]
        tenant = "" if case == "warm" else str(next(self._tenants))
        if case == "warm":
            _forget_answers(detector)
        return measure.milliseconds(
            lambda: detector.detect(
                sources=self._sample.sources,
                question=self._sample.question,
                answer=self._sample.answer,
                tenant=tenant,
            )
        )

    def second_looks(self) -> float:
        """Share of claims that were read twice."""
        done = {name: n - self._before[name] for name, n in self._work().items()}
        return done["second_looks"] / (done["sentences_read"] - done["second_looks"])

    def close(self) -> None:
        """Let go of the threads."""
        for detector in self._detectors.values():
            detector.close()

    def _work(self) -> dict[str, int]:
        work = self._detectors["cold"].work
        return {name: work.get(name, 0) for name in ("second_looks", "sentences_read")}


def _forget_answers(detector: Detector) -> None:
    # Else the same answer again would find its own sentences read.
    cache = detector._cache
    assert cache is not None
    with cache._lock:
        for key in [key for key in cache._store if key[2] == int(TextRole.HISTORY)]:
            del cache._store[key]


@dataclass(slots=True)
class Timings:
    """Milliseconds at one length: of each classifier, and of ``detect()`` right after it."""

    passes: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    ours: dict[str, dict[str, list[float]]] = field(
        default_factory=lambda: {case: defaultdict(list) for case in CASES}
    )

    def best(self, model: str) -> str | None:
        """The quickest runtime of a model."""
        ran = [name for name in self.passes if name.startswith(model)]
        return min(ran, key=lambda name: statistics.median(self.passes[name]), default=None)

    def ratios(self, peer: str, case: str) -> list[float]:
        """How many times longer a classifier takes, pass by pass."""
        return [a / b for a, b in zip(self.passes[peer], self.ours[case][peer], strict=True)]


def repeats(peer: Peer, n_tokens: int, options: argparse.Namespace) -> int:
    """How often a pass is run: 0 if it would take too long, or too much memory."""
    expected = peer.expected_s(n_tokens)
    if n_tokens > options.longest or expected > options.limit:
        return 0
    if peer.memory_gb(n_tokens) > options.memory_gb:
        return 0
    return max(_LEAST, min(options.rounds, int(options.budget / max(expected, 0.001))))


def time_length(
    those: Sequence[Peer],
    ours: Ours,
    n_tokens: int,
    quiet: measure.Quiet,
    options: argparse.Namespace,
) -> Timings:
    """Run everything in turns."""

    def turn(peer: Peer | None) -> None:
        took, found = quiet.run(lambda: _turn(peer, ours, n_tokens, options))
        name = peer.name if peer else ""
        if peer:
            timings.passes[name].append(took)
        for case, ms in found.items():
            timings.ours[case][name].append(ms)

    timings = Timings()
    plan = {peer.name: repeats(peer, n_tokens, options) for peer in those}
    for peer in those:
        if plan[peer.name] and peer.expected_s(n_tokens) < 1:
            peer.call(n_tokens)  # once for nothing: memory is taken, code is loaded
    for round_ in range(max(1, *plan.values())):
        for peer in those:
            if round_ < plan[peer.name]:
                turn(peer)
    if not any(plan.values()):
        for _ in range(options.rounds):
            turn(None)
    for peer in those:
        if plan[peer.name]:
            peer.known[n_tokens] = statistics.median(timings.passes[peer.name]) / 1000
    return timings


def _turn(
    peer: Peer | None, ours: Ours, n_tokens: int, options: argparse.Namespace
) -> tuple[float, dict[str, float]]:
    """A classifier's pass if any, and calls of ours right after it; their medians."""
    took = peer.pass_ms(n_tokens) if peer else 0.0
    time.sleep(options.pause)
    times = {case: [ours.call_ms(case) for _ in range(options.calls)] for case in CASES}
    return took, {case: statistics.median(found) for case, found in times.items()}


def peer_rows(
    those: Sequence[Peer], timings: Timings, n_context: int, n_tokens: int
) -> list[dict[str, Any]]:
    """What the classifiers took, or why they were not run."""
    rows = []
    for peer in those:
        row: dict[str, Any] = {"context": n_context, "tokens": n_tokens}
        row |= {"model": peer.model, "runtime": peer.runtime}
        if times := timings.passes.get(peer.name):
            row |= {"not_run": ""} | measure.summary(times)
        else:
            gb = peer.memory_gb(n_tokens)
            memory = f" and {gb:,.0f} GB of memory" if gb else ""
            row["not_run"] = f"estimated {peer.expected_s(n_tokens):,.0f} s{memory}"
        rows.append(row)
    return rows


def our_rows(
    those: Sequence[Peer], ours: Ours, timings: Timings, n_context: int, n_tokens: int
) -> list[dict[str, Any]]:
    """What ``detect()`` took, and how many times more the best classifiers."""
    rows = []
    for case in CASES:
        times = [ms for after in timings.ours[case].values() for ms in after]
        row: dict[str, Any] = {"context": n_context, "tokens": n_tokens, "case": case}
        row |= measure.summary(times)
        row["second_looks"] = round(ours.second_looks(), 3)
        for model in (MODERNBERT, BERT):
            row[model] = _against(model, those, timings, case, n_tokens)
        rows.append(row)
    return rows


def _against(
    model: str, those: Sequence[Peer], timings: Timings, case: str, n_tokens: int
) -> dict[str, Any]:
    best = timings.best(model)
    if best is not None:
        return {"best": best.partition(", ")[2], **measure.summary(timings.ratios(best, case), 1)}
    quickest = min(
        (peer for peer in those if peer.model == model), key=lambda peer: peer.expected_s(n_tokens)
    )
    times = [ms for after in timings.ours[case].values() for ms in after]
    estimated = quickest.expected_s(n_tokens) * 1000 / statistics.median(times)
    return {"best": quickest.runtime, "n": 0, "estimated": round(estimated, 1)}


def bars(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bars, where their length was measured."""
    return [
        measure.bar(
            f"detect() at 4,000 tokens, sources {row['case']}, against {MODERNBERT}'s best",
            BARS[row["case"]],
            row[MODERNBERT].get("median"),
            "×",
            at_least=True,
        )
        for row in rows
        if row["context"] == BARS_AT
    ]


def main() -> None:
    """Print the tables, and write them as JSON where asked."""
    options = _options()
    n_special = 4
    longest = max(n for n in options.lengths if n <= options.longest)
    those = list(peers(options.cache, n_positions=longest + 2 * options.answer_tokens))
    pieces = word_pieces()
    quiet = measure.Quiet(options.patience)
    report: dict[str, Any] = {
        "benchmark": "joint",
        "machine": measure.machine("torch", "transformers"),
        "settings": {name: value for name, value in vars(options).items() if name in _KEPT},
        "peers": [],
        "ours": [],
    }
    for n_context in options.lengths:
        sample = next(
            samples(options.text, n_context, seed=options.seed, n_answer=options.answer_tokens)
        )
        texts = (*sample.sources, sample.question, sample.answer)
        n_tokens = sum(len(pieces.encode(text)) for text in texts) + n_special
        ours = Ours(sample)
        timings = time_length(those, ours, n_tokens, quiet, options)
        report["peers"] += peer_rows(those, timings, n_context, n_tokens)
        report["ours"] += our_rows(those, ours, timings, n_context, n_tokens)
        ours.close()
        _print(report, n_context)
        print(quiet.to_dict(), flush=True)
    report["bars"] = bars(report["ours"])
    report |= quiet.to_dict()
    measure.print_bars(report["bars"])
    measure.write(options.out, report)


_KEPT = ("answer_tokens", "rounds", "budget", "limit", "memory_gb", "longest", "calls", "seed")


def _print(report: dict[str, Any], n_context: int) -> None:
    summary = ("n", "median", "q1", "q3")
    print(f"\n{n_context:,} tokens of context, times in ms")
    rows = [row for row in report["peers"] if row["context"] == n_context]
    print(measure.table(rows, ("model", "runtime", *summary, "not_run")))
    rows = [
        row | {model: row[model].get("median", row[model].get("estimated"))}
        for row in report["ours"]
        if row["context"] == n_context
        for model in (MODERNBERT,)
    ]
    print(measure.table(rows, ("case", *summary, "second_looks", MODERNBERT)), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--text", type=Path, help="samples as JSON Lines, in place of made-up ones")
    parser.add_argument("--cache", type=Path, required=True, help="where to keep the graphs (2 GB)")
    parser.add_argument(
        "--lengths", type=int, nargs="+", default=[250, 1000, 4000, 16_000, 100_000]
    )
    parser.add_argument("--answer-tokens", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=11, help="passes of a classifier at most")
    parser.add_argument("--calls", type=int, default=3, help="calls of detect() after each pass")
    parser.add_argument("--budget", type=float, default=40, help="seconds for each classifier")
    parser.add_argument("--limit", type=float, default=120, help="seconds of a pass at most")
    parser.add_argument("--memory-gb", type=float, default=8, help="memory of a pass at most")
    parser.add_argument("--longest", type=int, default=20_000, help="tokens of a pass at most")
    parser.add_argument("--pause", type=float, default=0.2, help="seconds before what is timed")
    parser.add_argument("--patience", type=float, default=300, help=measure.PATIENCE)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
