"""Time and memory of judging one sentence, by the length of the context.

Every context holds the same evidence for the same sentences; the rest is other text. Times come
from the detection itself: *index* is what opens a request, *read* is the judging. A sentence is
judged with one look, and with two: the threshold decides which, so that contexts are alike.

Run it: ``python benchmarks/context.py --out benchmarks/results/context.json``
"""

import argparse
import statistics
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import measure
from corpus import paragraphs, synthesize

from groundwire.detection.example import read_sources
from groundwire.detector import Detector
from groundwire.text.segment import Segmenter

#: Thresholds that nothing reaches, and that everything does.
NEVER, ALWAYS = 1.0, 1e-9
#: Word pieces of the text that all contexts share.
_SHARED = 250
_FLAT_FROM, _FLAT_TO = "4,000 tokens", "100,000 tokens"
_TIMED = (
    ("index_first", "opening, new sources"),
    ("index_again", "opening, known sources"),
    ("read_first", "a sentence, first time"),
    ("read_one_look", "a sentence, one look"),
    ("read_two_looks", "a sentence, two looks"),
)


@dataclass(frozen=True, slots=True)
class Case:
    """A context, and sentences about what all contexts share."""

    name: str
    sources: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(slots=True)
class Timings:
    """Milliseconds of one case, by what was timed."""

    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def row(self, name: str) -> dict[str, Any]:
        """Everything in one line."""
        return {"context": name} | {
            what: measure.summary(self.values[what]) for what, _ in _TIMED if self.values[what]
        }


def cases(options: argparse.Namespace) -> Iterator[Case]:
    """All contexts."""
    shared = synthesize(_SHARED, seed=options.seed, n_answer=100, wrong=0)
    sentences = tuple(_sentences(shared.answer))[:3]
    for n in options.lengths:
        others = synthesize(n - _SHARED, seed=options.seed + 1).sources if n > _SHARED else ()
        yield Case(f"{n:,} tokens", (*others, *shared.sources), sentences)
    short = _short_sources(options.seed, options.sources - len(shared.sources))
    yield Case(f"{options.sources:,} short sources", (*short, *shared.sources), sentences)
    long = _long_source(options.seed, options.source_mb, "\n\n".join(shared.sources))
    yield Case(f"one source of {options.source_mb:g} MB", (long,), sentences)


def _sentences(text: str) -> Iterator[str]:
    segmenter = Segmenter()
    for segment in [*segmenter.feed(text), *segmenter.finish()]:
        yield text[segment.start : segment.end]


def _short_sources(seed: int, n: int) -> tuple[str, ...]:
    return tuple(islice((text.partition(". ")[0] + "." for text in paragraphs(seed)), n))


def _long_source(seed: int, megabytes: float, shared: str) -> str:
    texts, size = [shared], len(shared)
    for text in paragraphs(seed):
        if size >= megabytes * 1e6:
            break
        texts.append(text)
        size += len(text) + 2
    return "\n\n".join(texts)


def time_case(detector: Detector, case: Case, round_: int, tenant: str) -> list[float]:
    """Judge a sentence with sources that are new, then with sources that are known."""
    sentence = case.sentences[round_ % len(case.sentences)]

    def detect(threshold: float) -> dict[str, float]:
        detection = detector.detect(
            sources=case.sources, answer=sentence, operating_point=threshold, tenant=tenant
        )
        return dict(detection.timings_ms)

    first = detect(NEVER)
    detect(ALWAYS)
    one = detect(NEVER)
    looks = detector.work.get("second_looks", 0)
    two = detect(ALWAYS)
    found = [first["index"], one["index"], first["read"], one["read"]]
    if detector.work.get("second_looks", 0) > looks:  # else one look holds all there is
        found.append(two["read"])
    return found


def time_cases(
    those: list[Case], quiet: measure.Quiet, options: argparse.Namespace
) -> dict[str, Timings]:
    """All cases in turns; the very large ones less often."""
    timings = {case.name: Timings() for case in those}
    tenants = map(str, count())
    with Detector.load() as detector:

        def run(case: Case, round_: int) -> list[float]:
            return time_case(detector, case, round_, next(tenants))

        run(those[0], 0)
        for round_ in range(options.rounds):
            for case in those:
                is_large = case in those[len(options.lengths) :]
                if not is_large or round_ < options.rounds_large:
                    found = quiet.run(partial(run, case, round_))
                    for (what, _), value in zip(_TIMED, found, strict=False):
                        timings[case.name].values[what].append(value)
    return timings


def memory(case: Case) -> dict[str, float]:
    """Megabytes that a process takes for a case: to be called in a fresh one."""
    sources = read_sources(case.sources)
    with Detector.load() as detector:
        detector.detect(sources=[case.sentences[0]], answer=case.sentences[0])
        loaded = measure.resident_mb()
        measure.reset_peak()
        stream = detector._open(sources, None, ALWAYS, "")
        opened, opening = measure.resident_mb(), measure.peak_mb()
        measure.reset_peak()
        stream.feed(case.sentences[0])
        stream.finish()
        judged, judging = measure.resident_mb(), measure.peak_mb()
    return {
        "loaded_mb": loaded,
        "index_mb": opened - loaded,
        "index_peak_mb": opening - loaded,
        "judging_peak_mb": judging - opened,
        "kept_mb": judged - opened,
    }


def memories(those: list[Case], rounds: int) -> list[dict[str, Any]]:
    """Medians of some fresh processes for each case."""
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    for _ in range(rounds):
        for case in those:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                found[case.name].append(pool.submit(memory, case).result())
    return [
        {"context": name, "n": len(runs)}
        | {what: round(statistics.median(run[what] for run in runs), 1) for what in runs[0]}
        for name, runs in found.items()
    ]


def flatness(timings: dict[str, Timings]) -> list[dict[str, Any]]:
    """How many times longer with the longest context than with 4,000 tokens, round by round."""
    if not {_FLAT_FROM, _FLAT_TO} <= timings.keys():
        return []
    short, long = timings[_FLAT_FROM].values, timings[_FLAT_TO].values
    return [
        {"what": words}
        | measure.summary([b / a for a, b in zip(short[what], long[what], strict=True)])
        for what, words in _TIMED
        if what.startswith("read")
    ]


def main() -> None:
    """Print the tables, and write them as JSON where asked."""
    options = _options()
    machine = measure.machine()
    those = list(cases(options))
    quiet = measure.Quiet(options.patience)
    timings = time_cases(those, quiet, options)
    report = {
        "benchmark": "context",
        "machine": machine,
        "settings": {name: value for name, value in vars(options).items() if name != "out"},
        "times": [timed.row(name) for name, timed in timings.items()],
        "memory": memories(those, options.rounds_memory),
        "flat": flatness(timings),
        **quiet.to_dict(),
    }
    medians = [
        {"context": row["context"]}
        | {words: row[what]["median"] for what, words in _TIMED if what in row}
        for row in report["times"]
    ]
    print("medians in ms\n" + measure.table(medians, ("context", *(words for _, words in _TIMED))))
    print("\nmegabytes\n" + measure.table(report["memory"], list(report["memory"][0])))
    print("\n100,000 tokens over 4,000")
    print(measure.table(report["flat"], ("what", "n", "median", "q1", "q3")))
    measure.write(options.out, report)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument(
        "--lengths", type=int, nargs="+", default=[250, 1000, 4000, 16_000, 100_000]
    )
    parser.add_argument("--sources", type=int, default=10_000, help="of the many short ones")
    parser.add_argument("--source-mb", type=float, default=5, help="size of the long one")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--rounds-large", type=int, default=3, help="for the last two contexts")
    parser.add_argument("--rounds-memory", type=int, default=3, help="fresh processes for each")
    parser.add_argument("--patience", type=float, default=300, help=measure.PATIENCE)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
