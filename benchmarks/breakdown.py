"""Where the time of one ``detect()`` goes, stage by stage, and what thread settings change.

The stages are timed from outside, by wrapping the functions they consist of: one thread judges,
so that their times add up. Settings are compared in turns within each round.

Run it: ``python benchmarks/breakdown.py --out benchmarks/results/breakdown.json``
"""

import argparse
import cProfile
import pstats
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import measure
import onnxruntime
from corpus import Sample, samples

from groundwire import stream as stream_module
from groundwire.detection import evidence as evidence_module
from groundwire.detection import passages as passages_module
from groundwire.detector import Detector
from groundwire.engine import features as features_module
from groundwire.engine import reader as reader_module
from groundwire.engine import shared as shared_module
from groundwire.engine.models import find_model
from groundwire.engine.reader import Reader
from groundwire.engine.runtime import KeysValues

#: Stage, where its function is looked up, and under which name. Inner stages are indented; their
#: time is part of the stage above.
STAGES: tuple[tuple[str, Any, str], ...] = (
    ("segmenter", stream_module.Segmenter, "feed"),
    ("segmenter ", stream_module.Segmenter, "finish"),
    ("index", evidence_module.Evidence, "of"),
    ("  cut sources", shared_module, "cut_source"),
    ("    lines", passages_module, "lines_of"),
    ("  vectors", evidence_module.WordWeights, "mean"),
    ("  postings", evidence_module.LexicalIndex, "of"),
    ("claim's pieces", reader_module, "parts_of"),
    ("select", evidence_module.Evidence, "select"),
    ("  lexical scores", evidence_module.LexicalIndex, "scores"),
    ("read a source", reader_module.ReaderGraph, "read_source"),
    ("cache and past texts", reader_module.EncodedTexts, "encode"),
    ("join keys and values", KeysValues, "join"),
    ("features", reader_module, "match_features"),
    ("  verbatim runs", features_module, "longest_runs"),
    ("  quantities", features_module, "_quantity_codes"),
    ("graph", reader_module.ReaderGraph, "read_sentence"),
    ("references", evidence_module.Evidence, "references"),
    ("claims and spans", stream_module.Stream, "_claim"),
    ("conclude", stream_module.Stream, "_conclude"),
)


@dataclass(frozen=True, slots=True)
class Setting:
    """How a detector uses threads."""

    intra: int
    workers: int
    spins: bool

    @property
    def name(self) -> str:
        """In tables."""
        return f"{self.intra} in a run, {self.workers} runs at a time, spin {int(self.spins)}"

    def detector(self) -> Detector:
        """A detector of its own, with an empty cache."""
        loaded = Detector.load(threads=self.intra)
        reader = loaded.backend
        assert isinstance(reader, Reader)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.intra
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", str(int(self.spins)))
        reader.graph._session = onnxruntime.InferenceSession(
            str(find_model().folder / "reader.onnx"), options, providers=["CPUExecutionProvider"]
        )
        shared = copy(reader.shared)
        shared.workers = ThreadPoolExecutor(self.workers)
        return Detector(replace(reader, shared=shared), shared=shared)


@contextmanager
def timers(clock: Callable[[], float]) -> Iterator[dict[str, list[float]]]:
    """Wrap the stages; gives their times in milliseconds, calls in a list."""
    times: dict[str, list[float]] = defaultdict(list)
    originals: list[tuple[Any, str, Any]] = []
    for stage, home, name in STAGES:
        original = vars(home)[name]
        plain = original.__func__ if isinstance(original, classmethod) else original

        def wrapped(*args: Any, _stage: str = stage, _call: Any = plain, **kw: Any) -> Any:  # noqa: ANN401
            begin = clock()
            try:
                return _call(*args, **kw)
            finally:
                times[_stage].append((clock() - begin) * 1000)

        originals.append((home, name, original))
        setattr(home, name, classmethod(wrapped) if plain is not original else wrapped)
    try:
        yield times
    finally:
        for home, name, original in originals:
            setattr(home, name, original)


def stages(
    sample: Sample, rounds: int, quiet: measure.Quiet, *, tenant: Callable[[int], str]
) -> list[dict[str, Any]]:
    """Median time of every stage over some rounds, in one thread."""
    detector = Setting(1, 1, spins=False).detector()
    per_round: dict[str, list[float]] = defaultdict(list)
    calls: dict[str, int] = {}
    tenants = count()

    def run() -> tuple[float, dict[str, list[float]]]:
        with timers(perf_counter) as times:
            return _ms(detector, sample, tenant(next(tenants))), times

    for round_ in range(-2, rounds):
        total, times = quiet.run(run)
        if round_ < 0:
            continue
        for stage, _, _ in STAGES:
            per_round[stage].append(sum(times[stage]))
            calls[stage] = len(times[stage])
        per_round["total"].append(total)
        calls["total"] = 1
    return [
        {"stage": stage, "calls": calls[stage], "ms": measure.summary(values)["median"]}
        for stage, values in per_round.items()
    ]


def settings(sample: Sample, rounds: int, quiet: measure.Quiet) -> list[dict[str, Any]]:
    """Whole calls under each thread setting, in turns."""
    tried = [
        Setting(intra, workers, spins)
        for intra in (1, 2)
        for workers in (1, 2)
        for spins in ((False, True) if intra > 1 else (False,))
    ]
    detectors = [(setting, setting.detector()) for setting in tried]
    warm: dict[str, list[float]] = defaultdict(list)
    cold: dict[str, list[float]] = defaultdict(list)
    tenants = map(str, count())

    def run(detector: Detector) -> tuple[float, float]:
        tenant = next(tenants)
        return _ms(detector, sample, tenant), _ms(detector, sample, tenant)

    for round_ in range(-1, rounds):
        for setting, detector in detectors:
            found = quiet.run(partial(run, detector))
            for times, took in zip((cold, warm), found, strict=True):
                if round_ >= 0:
                    times[setting.name].append(took)
    base = tried[0].name
    return [
        {
            "setting": name,
            "warm_ms": measure.summary(warm[name])["median"],
            "cold_ms": measure.summary(cold[name])["median"],
            "warm_ratio": measure.summary(
                [a / b for a, b in zip(warm[base], warm[name], strict=True)]
            )["median"],
            "cold_ratio": measure.summary(
                [a / b for a, b in zip(cold[base], cold[name], strict=True)]
            )["median"],
        }
        for name in warm
    ]


def _ms(detector: Detector, sample: Sample, tenant: str) -> float:
    return measure.milliseconds(lambda: _detect(detector, sample, tenant))


def _detect(detector: Detector, sample: Sample, tenant: str) -> object:
    return detector.detect(
        sources=sample.sources, question=sample.question, answer=sample.answer, tenant=tenant
    )


def main() -> None:
    """Print the tables, and write them as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--text", type=Path, help="samples as JSON Lines, in place of made-up ones")
    parser.add_argument("--tokens", type=int, default=4000, help="word pieces of context")
    parser.add_argument("--answer-tokens", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--patience", type=float, default=300, help=measure.PATIENCE)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile", action="store_true", help="print a profile of the functions")
    options = parser.parse_args()
    sample = next(
        samples(options.text, options.tokens, seed=options.seed, n_answer=options.answer_tokens)
    )
    machine = measure.machine()
    quiet = measure.Quiet(options.patience)
    report: dict[str, Any] = {"benchmark": "breakdown", "machine": machine, **_settings(options)}
    for name, tenant in (("warm", lambda _: ""), ("cold", str)):
        report[name] = stages(sample, options.rounds, quiet, tenant=tenant)
        print(f"\n{name}, one thread")
        print(measure.table(report[name], ("stage", "calls", "ms")))
    report["settings"] = settings(sample, options.rounds, quiet)
    print("\nthreads (ratio: how many times faster than the first)")
    print(
        measure.table(
            report["settings"], ("setting", "warm_ms", "warm_ratio", "cold_ms", "cold_ratio")
        )
    )
    if options.profile:
        detector = Setting(1, 1, spins=False).detector()
        _detect(detector, sample, "")
        with cProfile.Profile() as profile:
            for _ in range(options.rounds):
                _detect(detector, sample, "")
        pstats.Stats(profile).sort_stats("tottime").print_stats(40)
    measure.write(options.out, report | quiet.to_dict())


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "context_tokens": options.tokens,
        "answer_tokens": options.answer_tokens,
        "rounds": options.rounds,
        "seed": options.seed,
    }


if __name__ == "__main__":
    main()
