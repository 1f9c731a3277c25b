"""What a detector is worth on labelled data, made from a file of results and nothing else."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any, Self

import numpy as np

from groundwire.cli.saved import detection_of
from groundwire.detection import Detection
from groundwire.errors import DetectionError, GroundwireError
from groundwire.evaluation.calibration import Brier, Reliability, brier, reliability
from groundwire.evaluation.datasets.labelled import Known
from groundwire.evaluation.intervals import Bootstrap, Replicates
from groundwire.evaluation.judged import Header, JudgedRow, read_header, read_judged
from groundwire.evaluation.metrics import AnswerCounts, Floats, Ranking, f1_of, ratios, total
from groundwire.evaluation.runner import Judged, held_against

#: Shares of hallucinated answers for which the precision is told.
PREVALENCES = (0.01, 0.05, 0.1, 0.2, 0.5)

#: Failed rows that are told one by one; how many there are is told in any case.
MAX_FAILURES = 100

N_RESAMPLES, SEED = 2000, 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelScore:
    """How much of what people marked with a label was found.

    Attributes:
        n: Marked stretches.
        n_touched: Those among them in which the detector marked something.
    """

    n: int
    n_touched: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return {"n": self.n, "n_touched": self.n_touched, "recall": self.n_touched / self.n}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What a detector is worth on labelled data, with all that is needed to judge that.

    Attributes:
        header: What judged which data.
        n: Rows of the data.
        n_failed: Rows that could not be read, or whose check failed.
        n_unlabelled: Rows of which nothing is known; they count for no score.
        groups: Judged answers by task; those whose check failed count as not flagged.
        reliability: Of the calibrated probability of answers; ``None`` if there is none.
        brier: The same as one number.
        labels: Found and marked stretches by label, and by the data's own word for it.
        latencies_ms: Of each check that did not fail.
        reasons: Why answers were not fully checked, each with how many answers.
        failures: The first failed rows: row, id and what is wrong.
        seconds: What all checks took together.
    """

    header: Header
    n: int
    n_failed: int
    n_unlabelled: int
    groups: Mapping[str, Sequence[Judged]]
    reliability: Reliability | None
    brier: Brier | None
    labels: Mapping[str, LabelScore]
    latencies_ms: Sequence[float] = field(repr=False)
    reasons: Mapping[str, int]
    failures: Sequence[Mapping[str, Any]]
    seconds: float

    @classmethod
    def read(cls, path: Path) -> Self:
        """Make it from a file of results.

        Raises:
            ResultsError: If it is none.
        """
        return cls.of(read_header(path), read_judged(path))

    @classmethod
    def of(cls, header: Header, rows: Iterable[JudgedRow]) -> Self:
        """Make it from judged rows, which are read once and not kept."""
        tally = _Tally()
        for row in rows:
            tally.add(row)
        said, so = np.array(tally.said), np.array(tally.so)
        return cls(
            header=header,
            n=tally.n,
            n_failed=tally.n_failed,
            n_unlabelled=tally.n_unlabelled,
            groups=tally.groups,
            reliability=reliability(said, so) if said.size else None,
            brier=brier(said, so) if said.size else None,
            labels={
                name: LabelScore(n=n, n_touched=tally.n_touched[name])
                for name, n in sorted(tally.n_marked.items())
            },
            latencies_ms=tally.latencies_ms,
            reasons=dict(sorted(tally.reasons.items())),
            failures=tally.failures,
            seconds=tally.seconds,
        )

    @property
    def judged(self) -> list[Judged]:
        """All answers that count."""
        return [answer for group in self.groups.values() for answer in group]

    def to_dict(self, *, wall_s: float | None = None) -> dict[str, Any]:
        """As JSON data: ratios in [0, 1], ``null`` where they are undefined.

        Args:
            wall_s: How long the run took, if one did; without, the checks' own times are summed.
        """
        judged, detector = self.judged, self.header.detector
        seconds = self.seconds if wall_s is None else wall_s
        return {
            "n": self.n,
            "n_failed": self.n_failed,
            "n_unlabelled": self.n_unlabelled,
            "n_scored": len(judged),
            "threshold": detector.threshold,
            "detector": detector.to_dict(),
            **scores_of(judged),
            "tasks": {name: scores_of(group) for name, group in self.groups.items()},
            "labels": {name: score.to_dict() for name, score in self.labels.items()},
            "calibration": self._calibration(),
            "coverage": {
                "n_incomplete": sum(not answer.is_complete for answer in judged),
                "reasons": dict(self.reasons),
            },
            "latency_ms": _percentiles(self.latencies_ms),
            "seconds": round(seconds, 3),
            "examples_per_s": round(self.n / seconds, 3) if seconds else None,
            "failures": list(self.failures),
            "bootstrap": {"unit": "context", "n_resamples": N_RESAMPLES, "seed": SEED},
            "data": dict(self.header.data),
            "command": self.header.command,
            "groundwire": self.header.version,
        }

    def _calibration(self) -> dict[str, Any] | None:
        if self.reliability is None or self.brier is None:
            return None
        return {
            "n": self.reliability.n,
            "ece": defined(self.reliability.ece),
            "brier": defined(self.brier.score),
            "brier_skill": defined(self.brier.skill),
            "bins": [
                {
                    "low": each.low,
                    "high": each.high,
                    "n": each.n,
                    "confidence": defined(each.confidence),
                    "frequency": defined(each.frequency),
                }
                for each in self.reliability.bins
            ],
        }


def scores_of(judged: Sequence[Judged]) -> dict[str, Any]:
    """Scores of a group of answers, as JSON data."""
    if not judged:
        return {"n_answers": 0, "example": None, "span": None, "span_lettucedetect": None}
    flagged = np.array([answer.is_flagged for answer in judged])
    hallucinated = np.array([answer.is_hallucinated for answer in judged])
    answers = AnswerCounts.of(flagged, hallucinated)
    bootstrap = Bootstrap.of(
        [answer.context_id for answer in judged], n_resamples=N_RESAMPLES, seed=SEED
    )
    return {
        "n_answers": answers.n,
        "n_contexts": bootstrap.n_contexts,
        "n_hallucinated": answers.n_hallucinated,
        "n_flagged": answers.n_flagged,
        "example": _example(judged, answers, bootstrap, flagged, hallucinated),
        **_spans(judged),
        "baseline_flag_all": {"f1": defined(answers.flag_all_f1)},
        "prevalence": [
            {"prevalence": share, "precision": defined(answers.precision_at(share))}
            for share in PREVALENCES
        ],
    }


def _example(
    judged: Sequence[Judged],
    answers: AnswerCounts,
    bootstrap: Bootstrap,
    flagged: "np.typing.NDArray[np.bool_]",
    hallucinated: "np.typing.NDArray[np.bool_]",
) -> dict[str, Any]:
    ranking = Ranking.of([answer.probability for answer in judged], hallucinated)
    columns = np.column_stack(
        [flagged & hallucinated, flagged, hallucinated, np.ones(len(judged))]
    ).astype(np.float64)
    replicates = {
        "precision": bootstrap.of_sums(columns, lambda sums: ratios(sums[..., 0], sums[..., 1])),
        "recall": bootstrap.of_sums(columns, lambda sums: ratios(sums[..., 0], sums[..., 2])),
        "f1": bootstrap.of_sums(columns, lambda sums: f1_of(sums[..., :3])),
        "balanced_accuracy": bootstrap.of_sums(columns, _balanced_accuracy),
        "auroc": bootstrap.of_weights(ranking.auroc),
        "auprc": bootstrap.of_weights(ranking.average_precision),
        "fpr": bootstrap.of_sums(columns, _false_positive_rate),
    }
    values = {name: defined(each.value) for name, each in replicates.items()}
    return {**values, "ci95": {name: _ends(each) for name, each in replicates.items()}}


def _false_positive_rate(sums: Floats) -> Floats:
    return ratios(sums[..., 1] - sums[..., 0], sums[..., 3] - sums[..., 2])


def _balanced_accuracy(sums: Floats) -> Floats:
    recall = ratios(sums[..., 0], sums[..., 2])
    return (recall + 1 - _false_positive_rate(sums)) / 2


def _spans(judged: Sequence[Judged]) -> dict[str, Any]:
    marked = [answer for answer in judged if answer.has_spans]
    if not marked:
        return {"span": None, "span_lettucedetect": None}
    bootstrap = Bootstrap.of(
        [answer.context_id for answer in marked], n_resamples=N_RESAMPLES, seed=SEED
    )
    characters = total(answer.characters for answer in marked)
    pairs = total(answer.pairs for answer in marked)
    counts = np.array([answer.characters.counts for answer in marked], np.float64)
    replicates = {
        "precision": bootstrap.of_sums(counts, lambda sums: ratios(sums[..., 0], sums[..., 1])),
        "recall": bootstrap.of_sums(counts, lambda sums: ratios(sums[..., 0], sums[..., 2])),
        "f1": bootstrap.of_sums(counts, f1_of),
    }
    return {
        "span": {
            "n_answers": len(marked),
            **{name: defined(each.value) for name, each in replicates.items()},
            "iou": defined(characters.iou),
            "mean_iou": sum(answer.characters.iou for answer in marked) / len(marked),
            "ci95": {name: _ends(each) for name, each in replicates.items()},
        },
        "span_lettucedetect": {
            "precision": defined(pairs.precision),
            "recall": defined(pairs.recall),
            "f1": defined(pairs.f1),
        },
    }


class _Tally:
    """What is kept of the rows that went by."""

    def __init__(self) -> None:
        self.n = self.n_failed = self.n_unlabelled = 0
        self.groups: dict[str, list[Judged]] = {}
        self.said: list[float] = []
        self.so: list[bool] = []
        self.n_marked: Counter[str] = Counter()
        self.n_touched: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.latencies_ms: list[float] = []
        self.failures: list[dict[str, Any]] = []
        self.seconds = 0.0

    def add(self, row: JudgedRow) -> None:
        """Count one row."""
        self.n += 1
        self.seconds += row.seconds
        if row.error is not None:
            self.n_failed += 1
            if len(self.failures) < MAX_FAILURES:
                self.failures.append({"row": row.row, "id": row.id, **row.error})
        if row.hallucinated is None:
            self.n_unlabelled += row.error is None
            return
        verdict = verdict_of(row)
        self.groups.setdefault(row.task or "all", []).append(judged_of(row, verdict))
        if isinstance(verdict, Detection):
            self._add_detection(row, verdict)

    def _add_detection(self, row: JudgedRow, detection: Detection) -> None:
        self.reasons.update({str(reason) for reason in detection.coverage.reasons})
        self.latencies_ms.append(1000 * row.seconds)
        if detection.probability is not None:
            self.said.append(detection.probability)
            self.so.append(bool(row.hallucinated))
        for mark in row.gold:
            is_touched = any(
                mark["start"] < span.end and span.start < mark["end"] for span in detection.spans
            )
            for name in {str(mark["label"]), str(mark["kind"])} - {""}:
                self.n_marked[name] += 1
                self.n_touched[name] += is_touched


def verdict_of(row: JudgedRow) -> Detection | GroundwireError:
    """What the detector said of an answer."""
    if row.detection is not None:
        return detection_of(row.detection, row.answer)
    message = "" if row.error is None else row.error["message"]
    return DetectionError(message)


def judged_of(row: JudgedRow, verdict: Detection | GroundwireError) -> Judged:
    """A verdict, held against what is known of its answer."""
    gold = [(mark["start"], mark["end"]) for mark in row.gold]
    return held_against(
        verdict,
        id=row.id,
        task=row.task,
        context_id=row.context_id,
        text=row.answer,
        is_hallucinated=bool(row.hallucinated),
        gold=gold if row.known == Known.SPANS else None,
    )


def _ends(replicates: Replicates) -> list[float | None]:
    interval = replicates.interval()
    return [defined(interval.low), defined(interval.high)]


def _percentiles(values: Sequence[float]) -> dict[str, float] | None:
    if not values:
        return None
    shares = (50, 95, 99)
    found = np.percentile(values, shares).tolist()
    return {f"p{share}": round(value, 3) for share, value in zip(shares, found, strict=True)}


def defined(value: float) -> float | None:
    """A ratio as JSON has it: ``null`` if it is undefined."""
    return None if isnan(value) else float(value)
