"""What a detector is worth on labelled data, made from a file of results and nothing else."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from math import nan
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.detection_json import detection_of
from groundwire.detection.values import Detection
from groundwire.errors import DetectionError, GroundwireError
from groundwire.evaluation.calibration import brier, reliability
from groundwire.evaluation.columns import Collector, Columns
from groundwire.evaluation.confusion import Judged, held_against
from groundwire.evaluation.datasets.labelled import Known
from groundwire.evaluation.intervals import N_RESAMPLES, SEED
from groundwire.evaluation.judged_row import SCHEMA, Header, JudgedRow, ResultsError
from groundwire.evaluation.results_file import read_header, read_judged
from groundwire.evaluation.scores import PREVALENCES, defined, scores_of
from groundwire.text.files.reading import fingerprint
from groundwire.text.files.writing import to_json

#: Failed rows that are told one by one; how many there are is told in any case.
MAX_FAILURES = 100

#: What the scores of a group are called in JSON.
_SCORES = (
    *("n_answers", "n_scored", "n_contexts", "n_hallucinated", "n_flagged", "example"),
    *("span", "span_lettucedetect", "claims", "baseline_flag_all", "prevalence"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What a detector is worth on labelled data, with all that is needed to judge that.

    What is a mapping here is JSON data already: ratios in [0, 1], ``None`` where undefined.

    Attributes:
        header: What judged which data.
        n: Rows of the data.
        n_failed: Rows that could not be read, or whose check failed.
        n_unreadable: Those among them that could not be read; no score counts them.
        n_unchecked: Rows whose check did not fail and judged nothing: without a source, in a script
            that the detector cannot read, too short to be compared.
        n_unlabelled: Rows that could be read, of which nothing is known; no score counts them.
        scores: Of all answers that are labelled, as :func:`.scores.scores_of` has them; of
            those without a verdict, the hallucinated ones count as missed, and no others.
        tasks: The same by task; those of no task under an empty name.
        labels: Marked stretches by label, and by the data's own word for it: how many there are,
            and in how many of them the detector marked something.
        calibration: Whether it is so as often as the probability of an answer says; ``None``
            without probabilities.
        coverage: How many answers were not fully checked, and why.
        latency_ms: Of a check that came to a verdict: percentiles.
        failures: The first failed rows: row, id and what is wrong.
        seconds: What all checks took together.
        fingerprint: Tells the rows with their labels from others, in whichever order they are;
            empty if an earlier version wrote the scores.
    """

    header: Header
    n: int
    n_failed: int
    n_unreadable: int
    n_unchecked: int
    n_unlabelled: int
    scores: Mapping[str, Any]
    tasks: Mapping[str, Mapping[str, Any]]
    labels: Mapping[str, Mapping[str, Any]]
    calibration: Mapping[str, Any] | None
    coverage: Mapping[str, Any]
    latency_ms: Mapping[str, float] | None
    failures: Sequence[Mapping[str, Any]] = field(repr=False)
    seconds: float
    fingerprint: str

    @classmethod
    def read(cls, path: Path, *, prevalences: Sequence[float] = PREVALENCES) -> Self:
        """Make it from a file of results.

        Raises:
            ResultsError: If it is none.
        """
        try:
            return cls.of(read_header(path), read_judged(path), prevalences=prevalences)
        except ResultsError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            problem = f"a row of it is not as results are ({type(error).__name__}: {error})"
            raise ResultsError(path, None, problem) from error

    @classmethod
    def of(
        cls,
        header: Header,
        rows: Iterable[JudgedRow],
        *,
        prevalences: Sequence[float] = PREVALENCES,
    ) -> Self:
        """Make it from judged rows, in any order: each is read once, and numbers are kept of it.

        Raises:
            ValueError: If a row is there twice.
        """
        tally = _Tally()
        for row in rows:
            tally.add(row)
        columns = tally.answers.columns()
        names = tally.answers.tasks
        of_task = {names[i]: columns.tasks == i for i in dict.fromkeys(columns.tasks.tolist())}
        return cls(
            header=header,
            n=tally.n,
            n_failed=tally.n_failed,
            n_unreadable=tally.n_unreadable,
            n_unchecked=tally.n_unchecked,
            n_unlabelled=tally.n_unlabelled,
            scores=scores_of(columns, prevalences=prevalences),
            tasks={
                name: scores_of(columns.take(which), prevalences=prevalences)
                for name, which in of_task.items()
            },
            labels=tally.labels(),
            calibration=_calibration(columns),
            coverage={
                "n_incomplete": int((~columns.complete).sum()),
                "reasons": dict(sorted(tally.reasons.items())),
            },
            latency_ms=_percentiles(columns.latency_ms[~np.isnan(columns.latency_ms)]),
            failures=tally.failures(),
            seconds=tally.seconds,
            fingerprint=f"{tally.fingerprint:016x}",
        )

    def to_dict(self, *, wall_s: float | None = None) -> dict[str, Any]:
        """As JSON data.

        Args:
            wall_s: How long the run took, if one did; without, the checks' own times are summed.
        """
        detector = self.header.detector
        seconds = round(self.seconds if wall_s is None else wall_s, 6)
        n_checked = self.n - self.n_failed - self.n_unchecked
        return {
            "n": self.n,
            "n_failed": self.n_failed,
            "n_unreadable": self.n_unreadable,
            "n_failed_checks": self.n_failed - self.n_unreadable,
            "n_unchecked": self.n_unchecked,
            "n_unlabelled": self.n_unlabelled,
            "threshold": detector.threshold,
            "detector": detector.to_dict(),
            **self.scores,
            "tasks": dict(self.tasks),
            "labels": dict(self.labels),
            "calibration": self.calibration,
            "coverage": dict(self.coverage),
            "latency_ms": self.latency_ms,
            "seconds": seconds,
            "examples_per_s": round(n_checked / seconds, 3) if seconds and n_checked else None,
            "failures": list(self.failures),
            "bootstrap": {"unit": "context", "n_resamples": N_RESAMPLES, "seed": SEED},
            "data": dict(self.header.data),
            "fingerprint": self.fingerprint,
            "command": self.header.command,
            "groundwire": self.header.version,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what :meth:`to_dict` wrote, and ``groundwire evaluate --json`` prints.

        Raises:
            KeyError: If it is something else; so do TypeError and ValueError.
        """
        names = (
            *("n", "n_failed", "n_unreadable", "n_unchecked", "n_unlabelled"),
            *("tasks", "labels", "calibration", "coverage"),
        )
        return cls(
            header=Header.from_dict({**data, "schema": SCHEMA}),
            scores={name: data[name] for name in _SCORES if name in data},
            latency_ms=data["latency_ms"],
            failures=data["failures"],
            seconds=data["seconds"],
            fingerprint=data.get("fingerprint", ""),
            **{name: data[name] for name in names},
        )


class _Tally:
    """What is kept of the rows that went by: numbers, and no texts."""

    def __init__(self) -> None:
        self.n = self.n_failed = self.n_unreadable = self.n_unchecked = self.n_unlabelled = 0
        self.answers = Collector()
        self.reasons: Counter[str] = Counter()
        self.seconds = 0.0
        self.fingerprint = 0
        self._n_marked: Counter[str] = Counter()
        self._n_touched: Counter[str] = Counter()
        self._failures: list[tuple[int, int, dict[str, Any]]] = []  # last rows first

    def add(self, row: JudgedRow) -> None:
        """Count one row."""
        self.n += 1
        self.seconds += row.seconds
        # A sum, so that the order of the rows does not matter.
        self.fingerprint = (self.fingerprint + _fingerprint(row)) % 2**64
        if row.error is not None:
            self._add_failure(row, row.error)
        verdict = verdict_of(row)
        judged = judged_of(row, verdict)
        self.n_unchecked += judged.is_unchecked
        if row.hallucinated is None:
            self.n_unlabelled += row.error is None
            return
        said, latency_ms = None, nan
        if isinstance(verdict, Detection):
            self._add_detection(row, verdict)
            if judged.has_verdict:
                said, latency_ms = verdict.probability, 1000 * row.seconds
        self.answers.add(row.row, judged, said=said, latency_ms=latency_ms)

    def labels(self) -> dict[str, dict[str, Any]]:
        """How much of what people marked was found, by label."""
        return {
            name: {
                "n": n,
                "n_touched": self._n_touched[name],
                "recall": self._n_touched[name] / n,
            }
            for name, n in sorted(self._n_marked.items())
        }

    def failures(self) -> list[dict[str, Any]]:
        """The first failed rows."""
        return [failure for *_, failure in sorted(self._failures, key=lambda each: -each[0])]

    def _add_failure(self, row: JudgedRow, error: Mapping[str, str]) -> None:
        self.n_failed += 1
        self.n_unreadable += row.is_unreadable
        entry = (-row.row, self.n_failed, {"row": row.row, "id": row.id, **error})
        if len(self._failures) < MAX_FAILURES:
            heappush(self._failures, entry)
        else:
            heappushpop(self._failures, entry)

    def _add_detection(self, row: JudgedRow, detection: Detection) -> None:
        self.reasons.update({str(reason) for reason in detection.coverage.reasons})
        for mark in row.gold:
            is_touched = any(
                mark["start"] < span.end and span.start < mark["end"] for span in detection.spans
            )
            for name in {str(mark["label"]), str(mark["kind"])} - {""}:
                self._n_marked[name] += 1
                self._n_touched[name] += is_touched


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


def _fingerprint(row: JudgedRow) -> int:
    """What tells a row, and what is known of it, from others."""
    known = [row.row, row.sha256, row.known, row.hallucinated, [dict(mark) for mark in row.gold]]
    return int(fingerprint(to_json(known).encode()), 16)


def _calibration(answers: Columns) -> dict[str, Any] | None:
    """What the probabilities of answers are worth."""
    has_said = ~(np.isnan(answers.said) | answers.failed)
    if not has_said.any():
        return None
    said, so = answers.said[has_said], answers.hallucinated[has_said]
    bins, score = reliability(said, so), brier(said, so)
    return {
        "n": bins.n,
        "ece": defined(bins.ece),
        "brier": defined(score.score),
        "brier_skill": defined(score.skill),
        "bins": [
            {
                "low": each.low,
                "high": each.high,
                "n": each.n,
                "confidence": defined(each.confidence),
                "frequency": defined(each.frequency),
            }
            for each in bins.bins
        ],
    }


def _percentiles(values: NDArray[np.floating[Any]]) -> dict[str, float] | None:
    if not values.size:
        return None
    shares = (50, 95, 99)
    found = np.percentile(values, shares).tolist()
    return {f"p{share}": round(value, 3) for share, value in zip(shares, found, strict=True)}
