"""Describes tuned thresholds as text: a table, the guarantees, and configuration lines."""

from collections.abc import Iterator
from math import ceil, floor

from groundwire.detection.values import Score
from groundwire.evaluation.intervals import ScoreInterval
from groundwire.evaluation.no_verdict import RowCounts, told
from groundwire.evaluation.scores import PREVALENCES, defined
from groundwire.evaluation.table import aligned, failures_to_text, percent
from groundwire.evaluation.tuning.guarantee import DRAWN, UNITS, Guarantee
from groundwire.evaluation.tuning.snippet import to_yaml
from groundwire.evaluation.tuning.target import LOW, Aim, TuningTarget
from groundwire.evaluation.tuning.tuning import Tuned, Tuning
from groundwire.text.screen import one_line

#: The condition under which a guarantee holds, as text.
BEFOREHAND = (
    "The confidence is that of a target and a seed fixed before looking: what is promised of "
    "others, tried afterwards, is to be confirmed on other answers."
)


def to_text(tuning: Tuning) -> str:
    """Describe tuned thresholds: a table of scores, the guarantees, and configuration lines."""
    return "\n".join(_lines(tuning))


def _lines(tuning: Tuning) -> Iterator[str]:
    detector = tuning.header.detector
    yield (
        f"{one_line(detector.name)} {detector.revision[:12]}, judged at {detector.threshold:g}, "
        f"{tuning.target}"
    )
    yield ""
    yield from _table(tuning)
    yield ""
    for each in tuning.groups:
        yield promise(tuning, each)
    if notes := [*_rows(tuning.rows)]:
        yield ""
        yield from notes
    if tuning.target.aim is not Aim.F1:
        yield ""
        yield BEFOREHAND
    cost = tuning.groups[0].told
    if cost is not None:
        yield ""
        yield "precision if so many answers were hallucinated: " + ", ".join(
            f"{100 * share:g} %: {percent(defined(cost.counts.precision_at(share)))}"
            for share in PREVALENCES
        )
    if snippet := to_yaml(tuning):
        yield ""
        yield "# in the configuration:"
        yield snippet.rstrip()


def _table(tuning: Tuning) -> Iterator[str]:
    head = ("group", "answers", "contexts", "halluc.", "threshold")
    rows: list[tuple[str, ...]] = [
        (*head, "flagged", "precision (95 %)", "recall (95 %)", "FPR (95 %)", "F1 (95 %)")
    ]
    rows += [_row(each) for each in tuning.groups]
    yield from aligned(rows)


def _row(tuned: Tuned) -> tuple[str, ...]:
    numbers = (f"{tuned.counts.n:,}", f"{tuned.n_contexts:,}", f"{tuned.counts.n_hallucinated:,}")
    name = one_line(tuned.group) or "(none)"
    cost = tuned.told
    if tuned.threshold is None or cost is None:
        return (name, *numbers, *["-"] * 6)
    return (
        name,
        *numbers,
        f"{tuned.threshold:g}",
        f"{cost.counts.n_flagged:,}",
        *map(_with_ends, cost.scores.values()),
    )


def _rows(rows: RowCounts) -> Iterator[str]:
    """Yield lines about the rows without a label or a verdict."""
    if n := rows.n_unlabelled:
        yield f"{n:,} {'row has' if n == 1 else 'rows have'} no label (in no score)"
    yield from told(rows.to_dict())
    yield from failures_to_text(rows.to_dict())


def promise(tuning: Tuning, tuned: Tuned) -> str:
    """Describe the guarantee of a group of answers in a sentence, or say why there is none."""
    prefix = f"{one_line(tuned.group) or '(none)'}: "
    target, level = tuning.target, f"{100 * tuning.confidence:g} %"
    if tuned.guarantee is None:
        if tuned.threshold is None:
            why = (
                "every check failed"
                if tuned.n_failed == tuned.counts.n
                else "no answer is hallucinated"
            )
            return f"{prefix}{why}, so there is no F1"
        return (
            f"{prefix}nothing is promised: F1 is estimated by thresholds that other contexts chose"
            f"{_below(tuning, tuned)}"
        )
    held, unit = tuned.guarantee, UNITS[target.aim]
    if held.index is not None:
        sign = "at most" if target.aim is Aim.FPR else "at least"
        return (
            f"{prefix}{target.aim} is {sign} {target.value:g} for {DRAWN}, with {level} "
            f"confidence ({_losses(held, target)}){_below(tuning, tuned)}"
        )
    best = f"; {_best(held, target)}" if held.best is not None else ""
    if held.n_available < held.n_needed:
        return (
            f"{prefix}not enough data: needs at least {held.n_needed:,} {unit} for {target} at "
            f"{level}{_SET_ASIDE.get(target.aim, '')}, there are {held.n_available:,}{best}"
        )
    where = _limit(tuning) if target.aim is Aim.RECALL else "where it is easiest to meet"
    every = percent(defined(held.answers_lost))
    return (
        f"{prefix}no threshold has {target} at {level}: {where}, {_losses(held, target)}, and "
        f"{every} % of all {_ANSWERS[target.aim]}{best}"
    )


def _losses(held: Guarantee, target: TuningTarget) -> str:
    """Say how many of the trials at a threshold are losses, such as "2 of 50 ... are missed"."""
    lost = f"{held.n_losses:,} of {held.n:,} {UNITS[target.aim]}"
    if target.aim is Aim.PRECISION:
        lost += " that test"  # without the contexts that choose the first threshold
    return f"{lost} {_LOST[target.aim]}"


_ANSWERS = {
    Aim.FPR: "grounded answers",
    Aim.RECALL: "hallucinated answers",
    Aim.PRECISION: "flagged answers",
}

_LOST = {
    Aim.FPR: "are flagged",
    Aim.RECALL: "are missed",
    Aim.PRECISION: "are grounded",
}


#: Aim → explanation of its number of contexts, as text.
_SET_ASIDE = {Aim.PRECISION: " (a third of them says where to begin, the others test)"}


def _best(held: Guarantee, target: TuningTarget) -> str:
    assert held.best is not None
    # Rounded to the safe side, so that the printed value can be used as a target.
    rounded = ceil if target.aim is Aim.FPR else floor
    value = rounded(held.best * 1000) / 1000
    if not 0 < value < 1:
        return "nothing can be promised with them"
    return f"the best that can be promised is {target.aim}={value:g}"


def _limit(tuning: Tuning) -> str:
    detector = tuning.header.detector
    if detector.score is Score.SIMILARITY:
        return "at the threshold that flags most"
    return (
        f"at {detector.threshold:g}, where the answers were judged (a lower --operating-point "
        "might find more)"
    )


def _below(tuning: Tuning, tuned: Tuned) -> str:
    if not tuned.is_cut_off:
        return ""
    threshold = tuning.header.detector.threshold
    lower = f", such as {LOW:g}, or give --data" if threshold > LOW else ""
    return (
        f"; the answers were judged at {threshold:g}, and a lower threshold, of which nothing is "
        f"known, may be better: judge them again with a lower --operating-point{lower}"
    )


def _with_ends(interval: ScoreInterval) -> str:
    low, high = (percent(defined(end)) for end in (interval.low, interval.high))
    return f"{percent(defined(interval.value))} ({low} to {high})"
