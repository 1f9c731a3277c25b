"""Describes tuned thresholds as text: a table, the guarantees, and configuration lines."""

from collections.abc import Iterator
from math import ceil, floor

from groundwire.detection.values import Score
from groundwire.evaluation import table
from groundwire.evaluation.intervals import MIN_CONTEXTS
from groundwire.evaluation.no_verdict import RowCounts, counts_without_verdict
from groundwire.evaluation.scores import PREVALENCES
from groundwire.evaluation.tuning.guarantee import DRAWN, UNITS
from groundwire.evaluation.tuning.snippet import to_yaml
from groundwire.evaluation.tuning.target import LOW, Aim
from groundwire.evaluation.tuning.tuning import FlaggedCost, Tuned, Tuning
from groundwire.render.html import render_text
from groundwire.text.screen import one_line

#: The condition under which a guarantee holds, as text.
BEFOREHAND = (
    "The confidence is that of a target and a seed fixed before looking: what is promised of "
    "others, tried afterwards, is to be confirmed on other answers."
)


def to_text(tuning: Tuning) -> str:
    """Describe tuned thresholds: a table of scores, the guarantees, and configuration lines."""
    cost, snippet = tuning.groups[0].reported, to_yaml(tuning).rstrip()
    shown = _table(tuning)
    text = render_text(
        "tuning.txt",
        tuning=tuning,
        detector=tuning.header.detector,
        table=shown,
        gaps=table.why_no_interval(shown),
        promises=[promise(tuning, each) for each in tuning.groups],
        notes=[*_rows(tuning.rows)],
        proviso="" if tuning.target.aim is Aim.F1 else BEFOREHAND,
        shares=""
        if cost is None
        else ", ".join(
            f"{100 * share:g} %: {table.percent(cost.counts.precision_at(share))}"
            for share in PREVALENCES
        ),
    )
    # The configuration is added after the template is filled in, since the template would change
    # some characters of names, such as control characters.
    return f"{text}\n\n# in the configuration{_option(tuning)}:\n{snippet}" if snippet else text


def _option(tuning: Tuning) -> str:
    threshold = tuning.groups[0].threshold
    if threshold is None or tuning.header.detector.score is Score.SIMILARITY:
        return ""
    return f" (on the command line: --operating-point {threshold:g})"


def _table(tuning: Tuning) -> str:
    head = ("group", "answers", "contexts", "halluc.", "threshold")
    rows: list[tuple[str, ...]] = [
        (*head, "flagged", "precision (95 %)", "recall (95 %)", "FPR (95 %)", "F1 (95 %)")
    ]
    for each in tuning.groups:
        counts = (f"{each.counts.n:,}", f"{each.n_contexts:,}", f"{each.counts.n_hallucinated:,}")
        name = one_line(each.group) or "(none)"
        rows.append((name, *counts, *_cells(each.threshold, each.reported)))
        if tuning.default is not None:
            rows.append(("  by default", *[""] * 3, *_cells(tuning.default, each.default)))
    return "\n".join(table.aligned(rows))


def _cells(threshold: float | None, cost: FlaggedCost | None) -> tuple[str, ...]:
    if threshold is None or cost is None:
        return ("-",) * 6
    scores = (table.interval_text(each.value, each.low, each.high) for each in cost.scores.values())
    return (f"{threshold:g}", f"{cost.counts.n_flagged:,}", *scores)


def _rows(rows: RowCounts) -> Iterator[str]:
    """Yield lines about the rows without a label or a verdict."""
    if n := rows.n_unlabelled:
        yield f"{n:,} {'row has' if n == 1 else 'rows have'} no label (in no score)"
    yield from counts_without_verdict(rows.to_dict())
    yield from table.failures_to_text(rows.to_dict())


def promise(tuning: Tuning, tuned: Tuned) -> str:
    """Describe the guarantee of a group of answers in a sentence, or say why there is none."""
    held, target = tuned.guarantee, tuning.target
    best = None if held is None else held.best
    if best is not None:
        # Rounded to the safe side, so that the printed value can be used as a target.
        best = (ceil if target.aim is Aim.FPR else floor)(best * 1000) / 1000
    return render_text(
        "promise.txt",
        tuned=tuned,
        held=held,
        target=target,
        aim=target.aim,
        unit=UNITS.get(target.aim),
        level=f"{100 * tuning.confidence:g} %",
        best=best,
        every="" if held is None else table.percent(held.answers_lost),
        detector=tuning.header.detector,
        DRAWN=DRAWN,
        LOW=LOW,
        MIN_CONTEXTS=MIN_CONTEXTS,
    )
