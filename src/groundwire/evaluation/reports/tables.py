"""Tables of a report as rows of text, which HTML and Markdown lay out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from groundwire.evaluation.intervals import ScoreInterval
from groundwire.evaluation.reports.summary import Summary
from groundwire.evaluation.table import percent

#: Score → its name for people, and whether more of it is better.
SCORES = {
    "f1": ("F1", True),
    "precision": ("Precision", True),
    "recall": ("Recall", True),
    "balanced_accuracy": ("Balanced accuracy", True),
    "fpr": ("False-positive rate", False),
    "auroc": ("AUROC", True),
    "auprc": ("AUPRC", True),
    "span_f1": ("Characters: F1", True),
    "span_precision": ("Characters: precision", True),
    "span_recall": ("Characters: recall", True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """A table of texts; the first column names the row.

    Attributes:
        heads: Of the columns.
        rows: As many cells each as there are heads.
        strong: Cells that stand out, by row and column.
        says: An explanation.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    strong: frozenset[tuple[int, int]] = frozenset()
    says: str = ""


def scores_table(summary: Summary) -> ReportTable:
    """Make the table of scores with intervals, and with changes since a baseline."""
    comparison = summary.comparison
    heads: tuple[str, ...] = ("Score", "%", "95 % interval")
    if comparison:
        heads += ("Baseline", "Change", "95 % of the change")
    rows: list[tuple[str, ...]] = []
    strong = set[tuple[int, int]]()
    for key, (name, _) in SCORES.items():
        value, ends = _score(summary.scores, key)
        if value is None:
            continue
        row: tuple[str, ...] = (name, percent(value), _ends(ends))
        if comparison:
            delta = comparison.deltas.get(key)
            row = (*row, percent(_score(comparison.before, key)[0]), *_delta(delta))
            if delta is not None and is_clear(delta):
                strong.add((len(rows), 4))
        rows.append(row)
    rows += _flag_all(summary)
    says = (
        "Positive is an answer that is hallucinated. Intervals: bootstrap of "
        f"{summary.scores['bootstrap']['n_resamples']:,} resamples of whole contexts."
    )
    if comparison:
        says += (
            f" Changes are of the {comparison.n_common:,} labelled rows that both have, paired; "
            "a strong one has an interval without 0."
        )
    return ReportTable(heads=heads, rows=tuple(rows), strong=frozenset(strong), says=says)


def is_clear(delta: ScoreInterval) -> bool:
    """Whether the interval of a change excludes 0."""
    return delta.low > 0 or delta.high < 0


def tasks_table(scores: Mapping[str, Any]) -> ReportTable:
    """Make the table of scores by task."""
    heads = (
        *("Task", "Answers", "Hallucinated", "Precision", "Recall", "F1", "95 % interval"),
        *("Flag all: F1", "AUROC", "FPR", "Characters: F1"),
    )
    rows = tuple(_task(name or "(none)", group) for name, group in scores["tasks"].items())
    return ReportTable(heads=heads, rows=rows, says="In per cent.")


def labels_table(scores: Mapping[str, Any]) -> ReportTable:
    """Make the table of marked stretches that were found, by label."""
    rows = tuple(
        (name, f"{each['n']:,}", f"{each['n_touched']:,}", percent(each["recall"]))
        for name, each in scores["labels"].items()
    )
    return ReportTable(
        heads=("Label", "Stretches marked by people", "Touched", "Touched (%)"),
        rows=rows,
        says="Touched: the detector marked at least a part of it.",
    )


def prevalence_table(scores: Mapping[str, Any]) -> ReportTable:
    """Make the table of precision by prevalence."""
    rows = tuple(
        (f"{100 * each['prevalence']:g}", percent(each["precision"]))
        for each in scores.get("prevalence") or ()
    )
    return ReportTable(
        heads=("If this share is hallucinated (%)", "Precision (%)"),
        rows=rows,
        says="Recall and false-positive rate stay; of what is flagged, this share is.",
    )


def bins_table(scores: Mapping[str, Any]) -> ReportTable:
    """Make the table of the bins of the reliability diagram."""
    rows = tuple(
        (
            f"{100 * each['low']:.0f} to {100 * each['high']:.0f}",
            f"{each['n']:,}",
            percent(each["confidence"]),
            percent(each["frequency"]),
        )
        for each in (scores["calibration"] or {}).get("bins", ())
        if each["n"]
    )
    return ReportTable(heads=("Said (%)", "Answers", "Mean said (%)", "Was so (%)"), rows=rows)


def coverage_table(scores: Mapping[str, Any]) -> ReportTable:
    """Make the table of reasons why answers were not fully read."""
    rows = tuple((reason, f"{n:,}") for reason, n in scores["coverage"]["reasons"].items())
    return ReportTable(heads=("Reason", "Answers"), rows=rows)


def failures_table(scores: Mapping[str, Any]) -> ReportTable:
    """Make the table of the first failed rows."""
    rows = tuple(
        (str(each["row"]), str(each["id"]), str(each["type"]), str(each["message"]))
        for each in scores["failures"]
    )
    return ReportTable(heads=("Row", "Id", "Error", "Message"), rows=rows)


def signed(value: float | None) -> str:
    """Format a change in percentage points, with its sign."""
    if value is None or value != value:
        return "-"
    return f"{100 * value:+.1f}".replace("-", "−")


def _score(scores: Mapping[str, Any], key: str) -> tuple[float | None, list[float | None]]:
    group, _, name = key.rpartition("_") if key.startswith("span_") else ("example", "", key)
    found = scores.get(group)
    if not found:
        return None, [None, None]
    return found[name], found["ci95"].get(name, [None, None])


def _ends(ends: list[float | None]) -> str:
    low, high = map(percent, ends)
    return "-" if low == high == "-" else f"{low} to {high}"


def _delta(delta: ScoreInterval | None) -> tuple[str, str]:
    if delta is None:
        return "-", "-"
    return signed(delta.value), f"{signed(delta.low)} to {signed(delta.high)}"


def _flag_all(summary: Summary) -> Iterator[tuple[str, ...]]:
    sides = [summary.scores] + ([summary.comparison.before] if summary.comparison else [])
    shares = [percent((side.get("baseline_flag_all") or {}).get("f1")) for side in sides]
    now, *before = shares
    yield ("F1 of flagging every answer", now, "-", *before, *["-", "-"] * len(before))


def _task(name: str, group: Mapping[str, Any]) -> tuple[str, ...]:
    example, span = group["example"], group["span"]
    if example is None:
        return (name, "0", *["-"] * 9)
    return (
        name,
        f"{group['n_answers']:,}",
        f"{group['n_hallucinated']:,}",
        percent(example["precision"]),
        percent(example["recall"]),
        percent(example["f1"]),
        _ends(example["ci95"]["f1"]),
        percent(group["baseline_flag_all"]["f1"]),
        percent(example["auroc"]),
        percent(example["fpr"]),
        "-" if span is None else percent(span["f1"]),
    )
