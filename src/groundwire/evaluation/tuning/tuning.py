"""Chooses thresholds from labelled answers, and computes their guarantees and costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from groundwire.detection.values import DetectorInfo, Score
from groundwire.engine.models import DEFAULT_POINT, list_models
from groundwire.errors import SettingError
from groundwire.evaluation.intervals import MIN_CONTEXTS, Bootstrap, ScoreInterval
from groundwire.evaluation.judged_row import Header
from groundwire.evaluation.metrics import AnswerCounts, Bools, Floats, f1_of
from groundwire.evaluation.no_verdict import RowCounts
from groundwire.evaluation.scores import PREVALENCES, defined, precisions, scores_as_json
from groundwire.evaluation.sums import STATISTICS, answer_sums, counted, score
from groundwire.evaluation.tuning.guarantee import DRAWN, UNITS, Guarantee, flagged_at, guarantee
from groundwire.evaluation.tuning.sample import (
    Ints,
    LabelledSample,
    ReadSample,
    ThresholdCandidates,
)
from groundwire.evaluation.tuning.target import LOW, Aim, TuningTarget

#: Number of folds of cross-fitting: the answers of a fold are flagged at the threshold that is best
#: for the other folds.
N_FOLDS = 5

#: Names of the scores that are reported for a threshold.
REPORTED = ("precision", "recall", "fpr", "f1")

#: Name of the group of all answers.
ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlaggedCost:
    """The cost of a threshold: counts of the answers that it flags, and its scores.

    Attributes:
        counts: Counts of flagged and hallucinated answers, among the answers that scores count.
        scores: Name of each score of :data:`REPORTED` → score with its interval.
    """

    counts: AnswerCounts
    scores: Mapping[str, ScoreInterval]

    @classmethod
    def of(cls, sample: LabelledSample, flagged: Bools, *, seed: int) -> Self:
        """Compute counts and scores of a sample; ``flagged`` says which answers are flagged."""
        so, scored = sample.hallucinated, counted(sample.hallucinated, sample.failed)
        bootstrap = Bootstrap.of([str(each) for each in sample.contexts], seed=seed)
        sums = bootstrap.sums(answer_sums(flagged, so, sample.failed))
        return cls(
            counts=AnswerCounts.of(flagged[scored], so[scored]),
            scores={name: score(name, sums).interval() for name in REPORTED},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return counts and scores as JSON data."""
        counts = self.counts
        return {
            "n_flagged": counts.n_flagged,
            "n_both": counts.n_both,
            **scores_as_json(self.scores),
            "prevalence": precisions(counts, PREVALENCES),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """The threshold that was chosen for a group of answers.

    Attributes:
        group: Name of the group.
        counts: Counts of the group's answers; ``n_flagged`` and ``n_both`` are 0.
        n_contexts: Number of contexts of the answers.
        n_failed: Number of answers whose check failed, or judged nothing.
        threshold: The threshold to use; ``None`` if no threshold has a guarantee. The target ``f1``
            needs no guarantee. For ``f1``, the threshold is ``None`` if no answer is hallucinated,
            no answer has a verdict, or there are fewer than ``MIN_CONTEXTS`` contexts.
        is_cut_off: Whether a better threshold may be below the one at which the answers were
            judged, where no threshold can be chosen.
        guarantee: The guarantee of the threshold; ``None`` for ``f1``.
        cost: Scores at the threshold; ``None`` if there is no threshold.
        crossed: For ``f1``, scores by cross-fitting: each answer is flagged or not at a threshold
            that was chosen on other answers. ``None`` for other targets.
        default: Scores at :attr:`Tuning.default`; ``None`` if that threshold is ``None``.
        curve: Scores at each threshold; thresholds that flag the same answers share one entry.
    """

    group: str
    counts: AnswerCounts
    n_contexts: int
    n_failed: int
    threshold: float | None
    is_cut_off: bool
    guarantee: Guarantee | None
    cost: FlaggedCost | None
    crossed: FlaggedCost | None
    default: FlaggedCost | None
    curve: Sequence[dict[str, float | None]]

    @property
    def reported(self) -> FlaggedCost | None:
        """Scores to report: ``crossed`` for ``f1``, else ``cost``; ``None`` without a threshold."""
        return None if self.threshold is None else self.crossed or self.cost

    def to_dict(self) -> dict[str, Any]:
        """Return the threshold, its guarantee and its scores as JSON data."""
        return {
            "group": self.group,
            "n_answers": self.counts.n,
            "n_contexts": self.n_contexts,
            "n_hallucinated": self.counts.n_hallucinated,
            "n_failed": self.n_failed,
            "threshold": self.threshold,
            "is_cut_off": self.is_cut_off,
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
            "at_threshold": None if self.cost is None else self.cost.to_dict(),
            "cross_fitted": None if self.crossed is None else self.crossed.to_dict(),
            "at_default": None if self.default is None else self.default.to_dict(),
            "curve": list(self.curve),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The thresholds that were chosen: for all answers, and for each group of them.

    Attributes:
        header: The detector and the data.
        target: The target of the thresholds.
        confidence: The confidence of each single guarantee, in (0.5, 1). The confidence that all
            guarantees hold together may be lower.
        by: The column by which answers are grouped; ``None`` without groups.
        seed: Seed of the random draws.
        default: The default threshold of the detector, or ``None`` (:func:`default_threshold`).
        groups: The threshold for all answers, followed by those of the groups.
        rows: Counts of all rows, including those without a label.
    """

    header: Header
    target: TuningTarget
    confidence: float
    by: str | None
    seed: int
    default: float | None
    groups: tuple[Tuned, ...]
    rows: RowCounts

    @property
    def is_held(self) -> bool:
        """Whether there is a threshold for every group."""
        return all(each.threshold is not None for each in self.groups)

    def to_dict(self) -> dict[str, Any]:
        """Return the tuning as JSON data: ratios in [0, 1], ``null`` where they are undefined."""
        return {
            "target": str(self.target),
            "confidence": self.confidence,
            "unit": UNITS.get(self.target.aim),
            "promised_for": None if self.target.aim is Aim.F1 else DRAWN,
            "by": self.by,
            "seed": self.seed,
            "detector": self.header.detector.to_dict(),
            "default_threshold": self.default,
            **self.groups[0].to_dict(),
            **self.rows.to_dict(),
            "groups": [each.to_dict() for each in self.groups[1:]],
            "data": dict(self.header.data),
            "groundwire": self.header.version,
        }


def tune(
    read: ReadSample, target: TuningTarget, *, confidence: float = 0.95, seed: int = 0
) -> Tuning:
    """Choose a threshold for all answers and, if they are grouped, one for each group.

    Raises:
        SettingError: If the confidence is not above 0.5 and below 1.
        ModelError: If the manifest of an installed model cannot be read.
    """
    require_confidence(confidence)
    thresholds = ThresholdCandidates.of(read.header.detector)
    default = default_threshold(read.header.detector)
    groups = [(ALL, read.sample), *(read.sample.by_group() if read.by is not None else ())]
    return Tuning(
        header=read.header,
        target=target,
        confidence=confidence,
        by=read.by,
        seed=seed,
        default=default,
        rows=read.rows,
        groups=tuple(
            _tuned(name, group, thresholds, default, target, alpha=1 - confidence, seed=seed)
            for name, group in groups
        ),
    )


def default_threshold(detector: DetectorInfo) -> float | None:
    """Return the default threshold of the detector that judged some results; ``None`` if unknown.

    If the detector judged at its default operating point, the result is the threshold at which it
    judged. Otherwise the default is read from the installed model of the same revision; without
    such a model, the result is ``None``. For a detector that gives probabilities, the result is
    also ``None`` if the detector judged at a threshold above the default: its probabilities are not
    valid at lower thresholds.

    Raises:
        ModelError: If the manifest of an installed model cannot be read.
    """
    if detector.operating_point == DEFAULT_POINT:
        return detector.threshold
    found = {each.revision: each.operating_points.get(DEFAULT_POINT) for each in list_models()}
    default = found.get(detector.revision)
    is_known = detector.score is Score.SIMILARITY or (default or 0) >= detector.threshold
    return default if is_known else None


def require_confidence(confidence: float) -> None:
    """Raise a SettingError unless a confidence is above 0.5 and below 1."""
    if not 0.5 < confidence < 1:
        raise SettingError("confidence", confidence, "above 0.5 and below 1, such as 0.95")


def _tuned(
    name: str,
    sample: LabelledSample,
    thresholds: ThresholdCandidates,
    default: float | None,
    target: TuningTarget,
    *,
    alpha: float,
    seed: int,
) -> Tuned:
    entries, k = thresholds.entries(sample.scores), len(thresholds.values)
    promised, crossed, index, now = None, None, None, None
    if default is not None:
        now = ThresholdCandidates(np.array([default]), thresholds.score).entries(sample.scores) == 0
    n_contexts = len(np.unique(sample.contexts))
    if target.aim is Aim.F1:
        is_enough = n_contexts >= MIN_CONTEXTS and not sample.failed.all()
        index = _best_f1(entries, sample.hallucinated, k) if is_enough else None
        crossed = FlaggedCost.of(sample, _cross_fitted(sample, entries, k, seed=seed), seed=seed)
    else:
        promised = guarantee(sample, entries, k, target, alpha=alpha, seed=seed)
        index = promised.index
    return Tuned(
        group=name,
        counts=AnswerCounts.of(np.zeros(len(sample), np.bool_), sample.hallucinated),
        n_contexts=n_contexts,
        n_failed=int(sample.failed.sum()),
        threshold=None if index is None else float(thresholds.values[index]),
        is_cut_off=index is not None and _is_cut_off(thresholds, index, target.aim),
        guarantee=promised,
        cost=None if index is None else FlaggedCost.of(sample, entries <= index, seed=seed),
        crossed=crossed,
        default=None if now is None else FlaggedCost.of(sample, now, seed=seed),
        curve=_curve(sample, entries, thresholds),
    )


def _is_cut_off(thresholds: ThresholdCandidates, index: int, aim: Aim) -> bool:
    """Return whether a threshold below the lowest candidate may be better than the chosen one."""
    # For recall, the highest threshold that meets the target is chosen, so thresholds below the
    # candidates do not matter.
    if thresholds.score is Score.SIMILARITY or aim is Aim.RECALL:
        return False
    is_last = index == len(thresholds.values) - 1
    # F1 may rise again below the lowest candidate, wherever the best candidate is.
    return is_last or (aim is Aim.F1 and bool(thresholds.values[-1] > LOW))


def _counts(entries: Ints, so: Bools, k: int) -> tuple[Floats, Floats]:
    """Count the flagged answers, and the flagged hallucinated answers, at each threshold."""
    flagged, both = flagged_at(entries, k), flagged_at(entries[so], k)
    return flagged.astype(np.float64), both.astype(np.float64)


def _best_f1(entries: Ints, so: Bools, k: int) -> int | None:
    """Find the threshold with the highest F1.

    If several neighbouring thresholds flag the same answers, the one in the middle is chosen.

    Returns:
        The index of the threshold; ``None`` without hallucinated answers or without thresholds.
    """
    flagged, both = _counts(entries, so, k)
    if not so.any() or not k:
        return None
    f1 = np.nan_to_num(f1_of(np.stack([both, flagged, np.full(k, so.sum())], axis=-1)))
    best = int(f1.argmax())
    # A threshold in the middle of the gap between the scores of two answers is less overfitted than
    # one at either end of the gap.
    end = best
    while end + 1 < k and flagged[end + 1] == flagged[best]:
        end += 1
    return (best + end) // 2


def _cross_fitted(sample: LabelledSample, entries: Ints, k: int, *, seed: int) -> Bools:
    """Flag the answers of each fold at the threshold with the best F1 on the other folds.

    If :func:`_best_f1` finds no threshold on the other folds, no answer of the fold is flagged.
    """
    known = np.unique(sample.contexts)
    fold = np.random.default_rng(seed).permutation(len(known)) % N_FOLDS
    of_answer = fold[np.searchsorted(known, sample.contexts)]
    flagged = np.zeros(len(sample), np.bool_)
    for part in range(N_FOLDS):
        here = of_answer == part
        index = _best_f1(entries[~here], sample.hallucinated[~here], k)
        if index is not None:
            flagged[here] = entries[here] <= index
    return flagged


def _curve(
    sample: LabelledSample, entries: Ints, thresholds: ThresholdCandidates
) -> tuple[dict[str, float | None], ...]:
    """Compute the scores at each threshold; neighbours that flag the same answers are one point."""
    scored = counted(sample.hallucinated, sample.failed)
    entries, so = entries[scored], sample.hallucinated[scored]
    flagged, both = _counts(entries, so, len(thresholds.values))
    changed = np.flatnonzero(np.diff(flagged, prepend=-1.0))
    points = []
    for i in changed.tolist():
        sums = np.array([both[i], flagged[i], so.sum(), len(so)], np.float64)
        points.append(
            {
                "threshold": float(thresholds.values[i]),
                "n_flagged": int(flagged[i]),
                **{name: defined(float(STATISTICS[name](sums))) for name in REPORTED},
            }
        )
    return tuple(points)
