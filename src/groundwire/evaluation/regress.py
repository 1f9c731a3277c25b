"""Compares results with limits and a baseline, so that a CI pipeline can fail on worse results.

If a score to compare is missing, or results and baseline differ in their data or labels, the
comparison raises an error.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Self

from groundwire.detection.values import JsonRecord, Outcome, fields_as_data
from groundwire.errors import InputError, SettingError
from groundwire.evaluation.confusion import ComparedAnswer, detection_in
from groundwire.evaluation.evaluation import Evaluation
from groundwire.evaluation.intervals import Replicates
from groundwire.evaluation.judged_row import UNLIKE_RESULTS, JudgedRow, ResultsError
from groundwire.evaluation.paired import differences
from groundwire.evaluation.results_file import read_header, read_judged
from groundwire.evaluation.scores import defined
from groundwire.evaluation.sums import STATISTICS

#: Scores that can be compared: of answers, and of marked characters.
METRICS = (*STATISTICS, "auroc", "auprc", "span.precision", "span.recall", "span.f1")
#: Scores for which lower values are better.
_FALLING = ("fpr",)

#: Counts that must not be higher than in the baseline: name → JSON key, and words for the rows.
COUNTS = {
    "failed rows": ("n_failed", "rows could not be read or checked"),
    "unchecked answers": ("n_unchecked", "answers were not checked at all"),
}

#: Counts that must be equal in results and baseline: JSON key → words for the rows that it counts.
_SAME = {"n": "rows", "n_answers": "rows with a label", "n_hallucinated": "hallucinated answers"}

#: Tolerance for rounding errors: a drop or a rate that is exactly at its limit passes.
_SLACK = 1e-9


class RegressError(InputError):
    """Results cannot be compared with their baseline or their limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionCheck(JsonRecord):
    """The check of a number: a score, the rate of hallucinated answers, or a count of rows.

    Attributes:
        name: Name of the score, ``rate``, or a name of :data:`COUNTS`.
        is_passed: Whether the number is within its limit. In the check of ``rate``, answers that
            were not fully checked count as hallucinated.
        before: The number in the baseline, in the unit of ``now``; ``None`` for ``rate``, and
            without a baseline.
        now: The number in the new results: a score or the rate as a share, or a count.
        worse: By how much the number is worse than in the baseline: in percentage points for a
            score, in rows for a count; negative if the number is better. Without a baseline, the
            count itself. ``None`` for ``rate``.
        allowed: The limit: for a score the percentage points by which it may be worse, for ``rate``
            the per cent of answers that may be hallucinated, for a count its highest value.
        ci95: For a score, the 95 % interval of ``worse``, from paired resamples of contexts. Both
            ends are ``None`` if the interval is undefined. ``ci95`` itself is ``None`` for ``rate``
            and counts, and if the baseline is not a file of results.
        sentence: The result of the check as a sentence.
        note: For ``rate``, a warning if some answers were not fully checked; else empty.
    """

    name: str
    is_passed: bool
    before: float | None
    now: float
    worse: float | None
    allowed: float
    ci95: tuple[float | None, float | None] | None = None
    sentence: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """The result of a comparison with limits, and with a baseline if there is one.

    Attributes:
        n: Number of rows of the new results.
        checks: The checks: drops of scores, then the rate, then counts.
        n_newly_wrong: Number of answers whose verdict was right in the baseline, and is wrong or
            missing now; ``None`` unless the baseline is a file of results.
        newly_wrong: Ids of the first 20 answers that ``n_newly_wrong`` counts.
    """

    n: int
    checks: tuple[RegressionCheck, ...]
    n_newly_wrong: int | None = None
    newly_wrong: tuple[str, ...] = ()

    @property
    def is_passed(self) -> bool:
        """Whether all checks passed."""
        return all(check.is_passed for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        return {"passed": self.is_passed, **fields_as_data(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedChanges:
    """The limits that new results must keep.

    Attributes:
        drops: Score → percentage points by which it may be worse than in the baseline.
        rate: The share of answers that may be hallucinated, in [0, 1]; ``None`` for no limit.
    """

    drops: Mapping[str, float]
    rate: float | None = None

    @classmethod
    def of(cls, drops: Sequence[str], rate: float | None) -> Self:
        """Read limits from options of the command line.

        A drop is a text such as ``f1=1.0``. If two drops name the same score, the stricter one
        counts.

        Raises:
            SettingError: If a drop is malformed or negative, or names no score of :data:`METRICS`,
                or if the rate is not between 0 and 1.
        """
        read: dict[str, float] = {}
        for text in drops:
            name, _, number = text.partition("=")
            try:
                points = float(number)
            except ValueError:
                points = -1.0
            if name not in METRICS or not (isfinite(points) and points >= 0):
                raise SettingError(
                    "max-drop",
                    text,
                    f"SCORE=POINTS, such as f1=1.0, with a score among {', '.join(METRICS)}",
                )
            read[name] = min(points, read.get(name, points))
        if rate is not None and not 0 <= rate <= 1:
            raise SettingError("max-rate", rate, "a share between 0 and 1, such as 0.05")
        return cls(drops=read, rate=rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The baseline of a comparison: earlier scores, and perhaps the results behind them.

    Attributes:
        scores: The earlier scores, as ``groundwire evaluate --json`` prints them.
        results: The file of results from which the scores were computed, and with which single
            answers can be compared; ``None`` if the baseline has scores alone.
    """

    scores: Mapping[str, Any]
    results: Path | None = None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what ``groundwire evaluate`` printed with ``--json``, or a file of results.

        Raises:
            RegressError: If the file is neither of the two.
            ResultsError: If the file begins as results do, but is damaged.
        """
        try:
            read_header(path)
        except ResultsError:
            pass
        else:
            return cls(scores=Evaluation.read(path).to_dict(), results=path)
        try:
            scores = Evaluation.from_dict(json.loads(path.read_text(encoding="utf-8"))).to_dict()
        except (OSError, LookupError, *UNLIKE_RESULTS) as error:
            raise RegressError(
                f"{path} is no baseline ({type(error).__name__}: {error}). Give what groundwire "
                "evaluate --json printed, or the file of its --output."
            ) from error
        return cls(scores=scores)


def compare(results: Path, baseline: Baseline | None, limits: AllowedChanges) -> Regression:
    """Compare results with limits, and with a baseline if there is one.

    Raises:
        RegressError: If the two sides cannot be compared, the rate has a limit but cannot be
            computed, or the limits have drops and there is no baseline.
        ResultsError: If ``results`` is not a file of results, or the baseline's file of results is
            damaged.
    """
    now = Evaluation.read(results).to_dict()
    if limits.drops and baseline is None:
        raise RegressError("A drop is one from a baseline, and there is none. Give --baseline.")
    checks, broken = list[RegressionCheck](), None
    moved: Mapping[str, Replicates] = {}
    if baseline is not None:
        _require_same(now, baseline.scores)
        if baseline.results is not None:
            known, found = _labelled(baseline.results), _labelled(results)
            pairs = [(known[row], found[row]) for row in sorted(found)]
            moved = differences(pairs)
            broken = [after.id for was, after in pairs if was.is_right and not after.is_right]
        checks += [
            _drop(name, allowed, now, baseline.scores, moved)
            for name, allowed in limits.drops.items()
        ]
    if limits.rate is not None:
        checks.append(_rate(read_judged(results), limits.rate))
    checks += _not_more(now, None if baseline is None else baseline.scores)
    return Regression(
        n=now["n"],
        checks=tuple(checks),
        n_newly_wrong=None if broken is None else len(broken),
        newly_wrong=tuple((broken or ())[:20]),
    )


def _require_same(now: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    if sorted(now["data"].values()) != sorted(map(str, before["data"].values())):
        raise RegressError(
            f"The baseline is of other data ({_names(before)}) than what is judged "
            f"({_names(now)}): their SHA-256 differ, so a drop would mean nothing. Make a baseline "
            "of this data."
        )
    for key, name in _SAME.items():
        if now.get(key, 0) != before.get(key, 0):
            raise RegressError(
                f"The baseline has {before.get(key, 0):,} {name} and this run has "
                f"{now.get(key, 0):,}, of the same data: were its columns or labels read "
                "otherwise? Use the same options."
            )
    if now["fingerprint"] != before["fingerprint"]:
        raise RegressError(
            "The baseline has as many rows of the same data as this run, but other ones, or their "
            "labels were read otherwise. Use the same options, such as --limit, --column and "
            "--label-means."
        )


def _names(scores: Mapping[str, Any]) -> str:
    return ", ".join(map(str, scores["data"]))


def score_of(scores: Mapping[str, Any], name: str, whose: str) -> float:
    """Find a score of :data:`METRICS` in the JSON data of an evaluation.

    ``whose`` names the evaluation in the error, such as "the baseline".

    Raises:
        RegressError: If the score is missing or undefined.
    """
    part, _, key = name.rpartition(".")
    group = scores.get(part or "example")
    value = group.get(key) if isinstance(group, Mapping) else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
        raise RegressError(
            f"There is no {name} in {whose}: it is missing, or undefined for these answers. What "
            "cannot be compared does not pass."
        )
    return float(value)


def _drop(
    name: str,
    allowed: float,
    now: Mapping[str, Any],
    before: Mapping[str, Any],
    moved: Mapping[str, Replicates],
) -> RegressionCheck:
    was, is_ = score_of(before, name, "the baseline"), score_of(now, name, "what is judged now")
    sign = 1 if name in _FALLING else -1
    worse = 100 * sign * (is_ - was) + 0.0  # + 0.0 turns -0.0 into 0.0
    ends = None
    if name in moved:
        interval = moved[name].interval()
        found = sorted(100 * sign * end + 0.0 for end in (interval.low, interval.high))
        ends = (defined(found[0]), defined(found[1]))
    sentence = (
        f"{name} is {100 * is_:.1f} % and was {100 * was:.1f} %: {abs(worse):.2f} points "
        f"{'better' if worse < 0 else 'worse'}, and {allowed:g} worse are allowed"
    )
    return RegressionCheck(
        name=name,
        is_passed=worse <= allowed + _SLACK,
        before=was,
        now=is_,
        worse=worse,
        allowed=allowed,
        ci95=ends,
        sentence=sentence,
    )


def _rate(rows: Iterator[JudgedRow], allowed: float) -> RegressionCheck:
    """Check the rate of answers that the detector calls hallucinated.

    The rate is the number of these answers divided by the number of answers that the detector calls
    hallucinated or grounded. Skipped answers never count. Answers with another outcome, and failed
    rows, may be hallucinated. The check passes if the rate with all of them counted as hallucinated
    is within the limit.

    Raises:
        RegressError: If the detector calls no answer hallucinated or grounded.
    """
    outcomes = Counter(
        Outcome.UNAVAILABLE
        if row.error is not None or row.detection is None
        else Outcome(row.detection["outcome"])
        for row in rows
    )
    n_flagged = outcomes[Outcome.HALLUCINATED]
    n = n_flagged + outcomes[Outcome.GROUNDED]
    n_unread = outcomes.total() - n - outcomes[Outcome.SKIPPED]
    if not n:
        raise RegressError("No answer could be checked, so there is no rate of hallucinated ones.")
    most = (n_flagged + n_unread) / (n + n_unread)
    note = (
        f"{n_unread:,} of {n + n_unread:,} answers were not fully checked; if all of them are "
        f"hallucinated, {100 * most:.1f} % are"
        if n_unread
        else ""
    )
    sentence = (
        f"{n_flagged:,} of {n:,} answers are flagged ({100 * n_flagged / n:.1f} %), and "
        f"{100 * allowed:g} % are allowed"
    )
    return RegressionCheck(
        name="rate",
        is_passed=most <= allowed + _SLACK,
        before=None,
        now=n_flagged / n,
        worse=None,
        allowed=100 * allowed,
        sentence="; ".join(filter(None, (sentence, note))),
        note=note,
    )


def _not_more(
    now: Mapping[str, Any], baseline: Mapping[str, Any] | None
) -> Iterator[RegressionCheck]:
    """Check that there are not more failed rows or unchecked answers than in the baseline.

    Without a baseline, any failed row fails the check, and unchecked answers have no limit.
    """
    for name, (key, what) in COUNTS.items():
        n, before = now[key], None if baseline is None else int(baseline[key])
        if name != "failed rows" and (before is None or not (n or before)):
            continue
        allowed = before or 0
        yield RegressionCheck(
            name=name,
            is_passed=n <= allowed,
            before=before,
            now=n,
            worse=n - allowed,
            allowed=allowed,
            sentence=f"{n:,} {what}, and {allowed:,} are allowed",
        )


def _labelled(path: Path) -> dict[int, ComparedAnswer]:
    """Read the labelled rows of a results file: row number → answer compared with its label."""
    return {
        row.row: ComparedAnswer.of(row, detection_in(row))
        for row in read_judged(path)
        if row.hallucinated is not None
    }
