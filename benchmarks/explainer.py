"""What the explainer's filter is worth: the detector alone, and without what it acquits.

Validation answers, those that calibration is fitted on (docs/explanations.md says what follows).

Run it: ``python benchmarks/explainer.py --data DATA --out benchmarks/results/explainer.json``
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import measure
import numpy as np

from groundwire import Detector
from groundwire.detection.values import Detection, Label
from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire.evaluation.intervals import Bootstrap, ScoreInterval, difference
from groundwire.evaluation.metrics import AnswerCounts, Floats, count_characters, f1_of, ratios
from groundwire.explain import Explainer, Explanation
from groundwire.explain.explanations import ENTAILMENT_THRESHOLD
from groundwire_training.calibrate import validation_records
from groundwire_training.sets import LabelledContext

#: P(entailed) from which a span is dropped; the default first.
THRESHOLDS = (ENTAILMENT_THRESHOLD, 0.5, 0.6, 0.7, 0.8, 0.9)
#: Acquits all that rules do not forbid: what is dropped at a threshold is decided here.
_ALL = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One validation answer with what was found.

    Attributes:
        record: Its sources and its question.
        answer: Its text, and what people marked in it.
        detection: What the detector found.
        explanations: Of each span, as if every probability acquitted.
        as_used: Of each span, at the default thresholds.
        ms: What the explanation took.
        cpu_ms: Of it, time of this process: others disturb it less.
    """

    record: LabelledContext
    answer: MarkedAnswer
    detection: Detection
    explanations: tuple[Explanation, ...]
    as_used: tuple[Explanation, ...]
    ms: float
    cpu_ms: float

    def kept(self, threshold: float | None) -> list[Explanation]:
        """The spans that stay at a threshold; all without one."""
        return [each for each in self.explanations if not is_dropped(each, threshold)]

    def is_marked(self, each: Explanation) -> bool:
        """Whether annotators marked some of it."""
        return any(start < each.end and end > each.start for start, end, _ in self.answer.spans)

    def gold(self, each: Explanation) -> int:
        """0 not marked, 1 unsupported, 2 contradicted."""
        marks = [k for a, b, k in self.answer.spans if a < each.end and b > each.start]
        return max(marks, default=0)


def is_dropped(each: Explanation, threshold: float | None) -> bool:
    """Whether the filter drops it."""
    return (
        threshold is not None
        and each.is_false_positive
        and each.entailment is not None
        and each.entailment.entailment >= threshold
    )


def judge(
    detector: Detector, usual: Explainer, lenient: Explainer, records: Sequence[LabelledContext]
) -> list[Judged]:
    """Check and explain each answer."""
    judged = []
    for record in records:
        for answer in record.answers:
            found = detector.detect(
                sources=record.sources, question=record.question, answer=answer.text
            )
            began = process_time()
            explained = usual.explain(found, record.sources)
            cpu_ms = 1000 * (process_time() - began)
            judged.append(
                Judged(
                    record=record,
                    answer=answer,
                    detection=found,
                    explanations=lenient.explain(found, record.sources).explanations,
                    as_used=explained.explanations,
                    ms=explained.timing_ms,
                    cpu_ms=cpu_ms,
                )
            )
    return judged


def scores(judged: Sequence[Judged], threshold: float | None) -> dict[str, Any]:
    """Precision, recall and F1 of answers and of characters, with intervals by context."""
    bootstrap = Bootstrap.of([each.record.id for each in judged])
    answers, characters = columns(judged, threshold)
    return {
        "answers": of_columns(bootstrap, answers),
        "characters": of_columns(bootstrap, characters),
        "false_positive_rate": round(
            AnswerCounts.of(answers[:, 1] > 0, answers[:, 2] > 0).false_positive_rate, 4
        ),
    }


def columns(judged: Sequence[Judged], threshold: float | None) -> tuple[Floats, Floats]:
    """Both, flagged and marked of each answer: as a whole, and in characters."""
    answers, characters = [], []
    for each in judged:
        ranges = [(e.start, e.end) for e in each.kept(threshold)]
        gold = [(start, end) for start, end, _ in each.answer.spans]
        answers.append((bool(ranges and gold), bool(ranges), bool(gold)))
        characters.append(count_characters(ranges, gold, each.answer.text))
    return np.array(answers, np.float64), np.array(characters, np.float64)


def of_columns(bootstrap: Bootstrap, rows: Floats) -> dict[str, Any]:
    """Precision, recall and F1 of sums, each with its interval."""
    return {
        "precision": written(bootstrap.of_sums(rows, precision_of).interval()),
        "recall": written(bootstrap.of_sums(rows, recall_of).interval()),
        "f1": written(bootstrap.of_sums(rows, f1_of).interval()),
    }


def precision_of(sums: Floats) -> Floats:
    """Of sums of both, flagged and marked."""
    return ratios(sums[..., 0], sums[..., 1])


def recall_of(sums: Floats) -> Floats:
    """Of sums of both, flagged and marked."""
    return ratios(sums[..., 0], sums[..., 2])


def gain(judged: Sequence[Judged], threshold: float) -> dict[str, Any]:
    """How much precision, recall and F1 rise by the filter, resample by resample."""
    bootstrap = Bootstrap.of([each.record.id for each in judged])
    rises: dict[str, Any] = {}
    pairs = zip(columns(judged, threshold), columns(judged, None), strict=True)
    for name, (with_filter, alone) in zip(("answers", "characters"), pairs, strict=True):
        rises[name] = {
            score: written(
                difference(
                    bootstrap.of_sums(with_filter, statistic), bootstrap.of_sums(alone, statistic)
                ).interval()
            )
            for score, statistic in (
                ("precision", precision_of),
                ("recall", recall_of),
                ("f1", f1_of),
            )
        }
    return rises


def spans(judged: Sequence[Judged], threshold: float) -> list[dict[str, Any]]:
    """Spans by category: how many are right, and what the filter drops."""
    rows = []
    found = [(each, one) for one in judged for each in one.as_used]
    for category in sorted({str(each.category) for each, _ in found}):
        of_kind = [(each, one) for each, one in found if str(each.category) == category]
        dropped = [(each, one) for each, one in of_kind if is_dropped(each, threshold)]
        rows.append(
            {
                "what": category,
                "spans": len(of_kind),
                "marked by people": sum(one.is_marked(each) for each, one in of_kind),
                "dropped": len(dropped),
                "dropped, marked": sum(one.is_marked(each) for each, one in dropped),
                "severity": dict(sorted(Counter(each.severity for each, _ in of_kind).items())),
            }
        )
    return rows


def labels(judged: Sequence[Judged]) -> dict[str, Any]:
    """Of spans that people marked, how often contradicted and unsupported are told apart."""
    known = [
        (each, span, one.gold(each) == 2)
        for one in judged
        for each, span in zip(one.as_used, one.detection.spans, strict=True)
        if one.gold(each)
    ]
    by_explainer = [(each.category == "contradiction") == wanted for each, _, wanted in known]
    by_detector = [(span.label is Label.CONTRADICTED) == wanted for _, span, wanted in known]
    return {
        "n": len(known),
        "contradicted": round(float(np.mean([wanted for _, _, wanted in known])), 4),
        "explainer": round(float(np.mean(by_explainer)), 4),
        "detector": round(float(np.mean(by_detector)), 4),
    }


def written(interval: ScoreInterval) -> dict[str, float]:
    """An interval as data."""
    return {
        "value": round(interval.value, 4),
        "low": round(interval.low, 4),
        "high": round(interval.high, 4),
    }


def shown(interval: dict[str, float]) -> str:
    """An interval in per cent."""
    low, high = 100 * interval["low"], 100 * interval["high"]
    return f"{100 * interval['value']:.1f} ({low:.1f} to {high:.1f})"


def main() -> None:
    """Print the tables, and write them as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder of sets, or a file")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth context")
    parser.add_argument("--model", help="an NLI model in place of the embedded sentence head")
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    options = parser.parse_args()
    machine = measure.machine()
    records = list(validation_records(options.data))[:: options.every]
    detector = Detector.load(threads=1)
    usual, lenient = (
        Explainer.load(options.model, entailment_threshold=p, drops_entailed=False, threads=1)
        for p in (ENTAILMENT_THRESHOLD, _ALL)
    )
    judged = judge(detector, usual, lenient, records)
    groups = {
        "all": judged,
        "RAGTruth": [each for each in judged if not each.record.task.startswith("slots")],
        "slots": [each for each in judged if each.record.task.startswith("slots")],
    }
    rows = []
    for group, part in groups.items():
        for threshold in (None, *THRESHOLDS):
            found = scores(part, threshold)
            rows.append(
                {
                    "what": f"{group}, {'detector alone' if threshold is None else threshold}",
                    "n": len(part),
                    **{
                        f"{kind} {score}": shown(found[kind][score])
                        for kind in ("answers", "characters")
                        for score in ("precision", "recall", "f1")
                    },
                    "scores": found,
                }
            )
    print(measure.table(rows, [name for name in rows[0] if name != "scores"]))
    categories = spans(judged, ENTAILMENT_THRESHOLD)
    print(measure.table(categories, list(categories[0])))
    rises = {name: gain(part, ENTAILMENT_THRESHOLD) for name, part in groups.items() if part}
    for name, rise in rises.items():
        told = ", ".join(
            f"{kind} {score} {shown(rise[kind][score])}" for kind in rise for score in rise[kind]
        )
        print(f"gain at {ENTAILMENT_THRESHOLD:g}, {name}: {told}")
    marked = [each for each in judged if each.detection.spans]
    latency = {
        "n": len(marked),
        **{
            f"{name}, {kind}": round(measure.percentile(times, share), 2)
            for kind, times in (
                ("ms", [each.ms for each in marked]),
                ("cpu ms", [each.cpu_ms for each in marked]),
            )
            for name, share in (("p50", 0.5), ("p99", 0.99))
        },
    }
    print(f"labels: {labels(judged)}\nlatency of answers with spans: {latency}")
    report = {
        "benchmark": "explainer",
        "machine": machine,
        "model": options.model or "the embedded sentence head",
        "reader": detector.info.revision,
        "every": options.every,
        "contexts": len(records),
        "rows": rows,
        "gain": rises,
        "categories": categories,
        "labels": labels(judged),
        "latency": latency,
    }
    measure.write(options.out, report)


if __name__ == "__main__":
    main()
