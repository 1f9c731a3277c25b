"""The sample from which a threshold is chosen: labelled answers with their scores."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.values import Detection, DetectorInfo, Score
from groundwire.errors import InputError
from groundwire.evaluation.confusion import ComparedAnswer, detection_in
from groundwire.evaluation.judged_row import Header, JudgedRow, requiring_results
from groundwire.evaluation.metrics import Bools, Floats
from groundwire.evaluation.no_verdict import RowCounts
from groundwire.evaluation.results_file import read_header, read_judged

Ints = NDArray[np.intp]

#: Limit on the number of groups. A column with more different values probably holds ids.
MAX_GROUPS = 1000

_THOUSANDTHS = np.arange(1, 1001) / 1000
_NEAR_ONE = np.concatenate([1 - np.arange(1, 10) * step for step in (1e-4, 1e-5)])
#: Thresholds that are tried. They are fixed, because thresholds that depend on the answers would
#: void the guarantee. They are denser near 1, where the scores of confident models are.
THRESHOLDS: Floats = np.unique(np.round(np.concatenate([_THOUSANDTHS, _NEAR_ONE]), 5))


class SampleError(InputError):
    """No threshold can be chosen from a results file, for example because no answer has a label."""


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdCandidates:
    """The thresholds to choose from, from the one that flags least to the one that flags most.

    Attributes:
        values: The thresholds, shape ``(k,)``.
        score: Kind of the detector's scores. An answer is flagged if its score is a probability at
            or above the threshold, or a similarity below the threshold.
    """

    values: Floats
    score: Score

    @classmethod
    def of(cls, detector: DetectorInfo) -> Self:
        """List the thresholds at which results of a detector are valid.

        For probabilities, thresholds below the one at which the detector judged are left out. If a
        claim's score reaches the threshold, the detector may read the claim a second time, which
        may change the score. At a lower threshold, more claims would be read again, so scores might
        differ.
        """
        if detector.score is Score.SIMILARITY:
            return cls(THRESHOLDS, detector.score)
        known = THRESHOLDS[detector.threshold <= THRESHOLDS]
        return cls(known[::-1], detector.score)

    def entries(self, scores: Floats) -> Ints:
        """Find the index of the first threshold that flags each answer.

        The index is the number of thresholds if none of them flags the answer. ``scores`` has the
        score of each answer, as :attr:`LabelledSample.scores`, shape ``(n,)``.
        """
        if self.score is Score.SIMILARITY:
            entries = np.searchsorted(self.values, scores, side="right")
        else:
            # A score that equals the threshold rounded to float32 reaches the threshold, as it does
            # when the detector marks spans (:func:`groundwire.detection.spans.reduce_tokens`).
            lowest = np.minimum(self.values, self.values.astype(np.float32).astype(np.float64))
            entries = np.searchsorted(-lowest, -scores, side="left")
        return np.where(np.isnan(scores), len(self.values), entries)


@dataclass(frozen=True, slots=True, eq=False)
class LabelledSample:
    """Labelled answers as arrays with an entry for each answer, in the order of their rows.

    Attributes:
        contexts: Index of the context of each answer, shape ``(n,)``.
        scores: Score of each answer: the highest probability of its claims, or the lowest
            similarity. ``nan`` if the answer has no verdict or no claim has a score; no threshold
            flags such an answer.
        hallucinated: Whether each answer is hallucinated, by its label.
        failed: Whether the check of each answer failed, or judged nothing.
        groups: Value of each answer in the column to group by; empty if the answer has no value.
    """

    contexts: Ints
    scores: Floats
    hallucinated: Bools
    failed: Bools
    groups: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.contexts)

    def where(self, mask: Bools) -> "LabelledSample":
        """Select the answers where a mask is true."""
        return LabelledSample(*(getattr(self, each.name)[mask] for each in fields(self)))

    def by_group(self) -> Iterator[tuple[str, "LabelledSample"]]:
        """Yield the name and the answers of each group, sorted by name."""
        for name in np.unique(self.groups):
            yield str(name), self.where(self.groups == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSample:
    """The sample of a results file, with the header and the counts of the file.

    Attributes:
        header: The detector and the data.
        sample: The labelled answers.
        rows: Counts of all rows of the file.
        by: The column by which the answers are grouped; ``None`` without groups.
    """

    header: Header
    sample: LabelledSample
    rows: RowCounts
    by: str | None = None


def read_sample(path: Path, *, by: str | None = None) -> ReadSample:
    """Read the sample of a results file.

    ``by`` is the column by which answers are grouped, such as ``task``; ``None`` for no groups.

    Raises:
        ResultsError: If the file is not a file of results, or is damaged.
        SampleError: If no answer has a label, no labelled row has the column ``by``, the column has
            too many values, or two labelled rows have the same number.
    """
    with requiring_results(path):
        read = sample_of(read_header(path), read_judged(path), by=by)
    if not len(read.sample):
        raise SampleError(_nothing(read.rows))
    return read


def sample_of(header: Header, rows: Iterable[JudgedRow], *, by: str | None = None) -> ReadSample:
    """Make a sample of the labelled answers of judged rows; the rows may come in any order.

    Raises:
        SampleError: If no labelled row has the column ``by``, the column has too many values, or
            two labelled rows have the same number.
        KeyError: If a detection is malformed; TypeError, ValueError and AttributeError mean the
            same.
    """
    counts = RowCounts()
    found: dict[int, tuple[str, float, bool, bool, str]] = {}
    columns: set[str] = set()
    for row in rows:
        detection = detection_in(row)
        judged = ComparedAnswer.of(row, detection)
        counts.add(row, is_unchecked=judged.is_unchecked)
        if row.hallucinated is None:
            continue
        if row.row in found:
            raise SampleError(
                f"the results have row {row.row:,} twice, and it would count twice. Judge the data "
                "again."
            )
        values = {"task": row.task, **row.columns}
        columns.update(values)
        group = "" if by is None else values.get(by, "")
        worst = np.nan
        if judged.has_verdict and detection is not None:
            worst = _worst(detection, header.detector.score)
        found[row.row] = (row.context_id, worst, row.hallucinated, not judged.has_verdict, group)
    if found and by is not None and by not in columns:
        known = ", ".join(sorted(columns))
        raise SampleError(f"no row has the column {by!r}. Columns here: {known}.")
    # Sorted by row, so that draws of answers and of contexts do not depend on the order in which
    # rows were judged.
    kept = [found[number] for number in sorted(found)]
    numbers = {each: n for n, each in enumerate(dict.fromkeys(each[0] for each in kept))}
    if len({each[-1] for each in kept}) > MAX_GROUPS:
        raise SampleError(
            f"the column {by!r} has more than {MAX_GROUPS:,} values. Name one that tells a few "
            "groups apart."
        )
    sample = LabelledSample(
        np.array([numbers[each[0]] for each in kept], np.intp),
        np.array([each[1] for each in kept], np.float64),
        np.array([each[2] for each in kept], np.bool_),
        np.array([each[3] for each in kept], np.bool_),
        np.array([each[4] for each in kept], np.str_),
    )
    return ReadSample(header=header, sample=sample, rows=counts, by=by)


def _nothing(rows: RowCounts) -> str:
    n, n_failed, n_unlabelled = (f"{n:,}" for n in (rows.n, rows.n_failed, rows.n_unlabelled))
    reason = (
        f"There is nothing to choose a threshold by: of {n} {'row' if rows.n == 1 else 'rows'}, "
        f"{n_failed} failed and {n_unlabelled} have neither spans nor a label."
    )
    if not rows.failures:
        return f"{reason} Give labelled answers."
    first = rows.failures[0]
    return f"{reason} The first that failed is row {first['row']:,}: {first['message']}"


def _worst(detection: Detection, score: Score) -> float:
    """Return the score of the most doubtful claim; ``nan`` if no claim has a score."""
    worst, name = (min, "similarity") if score is Score.SIMILARITY else (max, "probability")
    scores = (getattr(claim, name) for claim in detection.claims)
    return float(worst((each for each in scores if each is not None), default=np.nan))
