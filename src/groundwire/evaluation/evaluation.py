"""Scores of a detector on labelled data, computed from a file of its results."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.values import Detection
from groundwire.evaluation.calibration import brier, reliability
from groundwire.evaluation.columns import Columns
from groundwire.evaluation.confusion import ComparedAnswer, detection_in, overlaps
from groundwire.evaluation.intervals import N_RESAMPLES, SEED
from groundwire.evaluation.judged_row import SCHEMA, Header, JudgedRow, requiring_results
from groundwire.evaluation.no_verdict import RowCounts
from groundwire.evaluation.results_file import read_header, read_judged
from groundwire.evaluation.scores import PREVALENCES, defined, scores_of
from groundwire.text.files.reading import fingerprint
from groundwire.text.files.writing import to_json

#: JSON keys of the scores of an evaluation.
_SCORES = (
    *("n_answers", "n_scored", "n_contexts", "n_hallucinated", "n_flagged", "example"),
    *("span", "span_lettucedetect", "claims", "baseline_flag_all", "prevalence"),
    *("tasks", "labels", "calibration", "coverage", "latency_ms", "fingerprint"),
)
#: The keys of :data:`_SCORES` that :meth:`Evaluation.from_dict` requires in its data.
_NEEDED = ("n_answers", *_SCORES[-6:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Scores of a detector on labelled data.

    Attributes:
        header: The detector and the data.
        counts: Counts of rows, and the first failed rows.
        scores: The scores as JSON data; an undefined score is ``None``. The data have the scores
            of all labelled answers, as :func:`.scores.scores_of` computes them; under ``tasks``,
            the same scores for each task; under ``labels``, the recall for each label and each
            kind of gold span; ``calibration``, ``coverage`` and ``latency_ms``; and
            ``fingerprint``, a hash of the rows and their labels that does not depend on the order
            of the rows.
        seconds: Seconds that the checks took, summed over all checks. After :meth:`from_dict`, the
            number under ``seconds`` in the data, which may be the duration of the whole run.
    """

    header: Header
    counts: RowCounts
    scores: Mapping[str, Any]
    seconds: float

    @classmethod
    def read(cls, path: Path, *, prevalences: Sequence[float] = PREVALENCES) -> Self:
        """Compute the scores of a file of results.

        Raises:
            ResultsError: If the file is not a file of results.
        """
        with requiring_results(path):
            return cls.of(read_header(path), read_judged(path), prevalences=prevalences)

    @classmethod
    def of(
        cls,
        header: Header,
        rows: Iterable[JudgedRow],
        *,
        prevalences: Sequence[float] = PREVALENCES,
    ) -> Self:
        """Compute the scores of judged rows, which may come in any order and are read once.

        Raises:
            ValueError: If two labelled rows have the same number, or a detection is malformed.
            KeyError: If a detection is malformed; TypeError and AttributeError mean the same.
        """
        tally = _Tally()
        columns = Columns.of(tally.labelled(rows))
        scores = {
            **scores_of(columns, prevalences=prevalences),
            "tasks": {
                name: scores_of(of_task, prevalences=prevalences)
                for name, of_task in columns.by_task().items()
            },
            "labels": tally.labels(),
            "calibration": _calibration(columns),
            "coverage": {
                "n_incomplete": int((~columns.complete).sum()),
                "reasons": dict(sorted(tally.reasons.items())),
            },
            "latency_ms": _percentiles(columns.latency_ms[~np.isnan(columns.latency_ms)]),
            "fingerprint": f"{tally.fingerprint:016x}",
        }
        return cls(header=header, counts=tally.counts, scores=scores, seconds=tally.seconds)

    def to_dict(self, *, wall_s: float | None = None) -> dict[str, Any]:
        """Return the evaluation as JSON data.

        ``wall_s`` is the number of seconds that the run took; by default :attr:`seconds`.
        """
        detector = self.header.detector
        seconds = round(self.seconds if wall_s is None else wall_s, 6)
        n_checked = self.counts.n - self.counts.n_failed - self.counts.n_unchecked
        return {
            **self.counts.to_dict(),
            "threshold": detector.threshold,
            "detector": detector.to_dict(),
            **self.scores,
            "seconds": seconds,
            "examples_per_s": round(n_checked / seconds, 3) if seconds and n_checked else None,
            "bootstrap": {"unit": "context", "n_resamples": N_RESAMPLES, "seed": SEED},
            "data": dict(self.header.data),
            "command": self.header.command,
            "groundwire": self.header.version,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read an evaluation from data of :meth:`to_dict`, as ``evaluate --json`` prints them.

        Raises:
            KeyError: If the data are not an evaluation; TypeError and ValueError mean the same.
        """
        return cls(
            header=Header.from_dict({**data, "schema": SCHEMA}),
            counts=RowCounts.from_dict(data),
            scores={name: data[name] for name in _SCORES if name in data or name in _NEEDED},
            seconds=data["seconds"],
        )


class _Tally:
    """Counts rows as they are read, without keeping them."""

    def __init__(self) -> None:
        self.counts = RowCounts()
        self.reasons: Counter[str] = Counter()
        self.seconds = 0.0
        self.fingerprint = 0
        self._n_marked: Counter[str] = Counter()
        self._n_touched: Counter[str] = Counter()

    def labelled(self, rows: Iterable[JudgedRow]) -> Iterator[ComparedAnswer]:
        """Add each row to the counts, and yield the labelled rows, compared with their labels."""
        for row in rows:
            self.seconds += row.seconds
            # The hashes are added, because a sum does not depend on the order of the rows.
            self.fingerprint = (self.fingerprint + _fingerprint(row)) % 2**64
            detection = detection_in(row)
            judged = ComparedAnswer.of(row, detection)
            self.counts.add(row, is_unchecked=judged.is_unchecked)
            if row.hallucinated is not None:
                if detection is not None:
                    self._add_detection(row, detection)
                yield judged

    def labels(self) -> dict[str, dict[str, Any]]:
        """Compute the recall of gold spans, for each label and kind, over answers with a detection.

        The recall is the share of gold spans that are touched. A gold span is touched if it shares
        a character with a span of the detector.
        """
        return {
            name: {"n": n, "n_touched": self._n_touched[name], "recall": self._n_touched[name] / n}
            for name, n in sorted(self._n_marked.items())
        }

    def _add_detection(self, row: JudgedRow, detection: Detection) -> None:
        self.reasons.update({str(reason) for reason in detection.coverage.reasons})
        for mark in row.gold:
            place = [(mark["start"], mark["end"])]
            is_touched = any(overlaps(span, place) for span in detection.spans)
            for name in {str(mark["label"]), str(mark["kind"])} - {""}:
                self._n_marked[name] += 1
                self._n_touched[name] += is_touched


def _fingerprint(row: JudgedRow) -> int:
    """Hash the number and the content of a row, and its labels."""
    known = [row.row, row.sha256, row.known, row.hallucinated, [dict(mark) for mark in row.gold]]
    return int(fingerprint(to_json(known).encode()), 16)


def _calibration(answers: Columns) -> dict[str, Any] | None:
    """Compute how well the probabilities of whole answers are calibrated.

    Answers without a verdict or a probability are left out; ``None`` if no answer remains.
    """
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
            asdict(each)
            | {"confidence": defined(each.confidence), "frequency": defined(each.frequency)}
            for each in bins.bins
        ],
    }


def _percentiles(values: NDArray[np.floating[Any]]) -> dict[str, float] | None:
    if not values.size:
        return None
    shares = (50, 95, 99)
    found = np.percentile(values, shares).tolist()
    return {f"p{share}": round(value, 3) for share, value in zip(shares, found, strict=True)}
