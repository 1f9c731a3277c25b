"""Tables of a report as rows of text, which the HTML and Markdown reports lay out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from groundwire.evaluation.reports.summary import Summary
from groundwire.evaluation.table import COLUMNS, percent, row_of, why_no_interval, with_ends

#: Group and key of a score in the JSON data of an evaluation → name that people read.
SCORES = {
    ("example", "f1"): "F1",
    ("example", "precision"): "Precision",
    ("example", "recall"): "Recall",
    ("example", "balanced_accuracy"): "Balanced accuracy",
    ("example", "fpr"): "False-positive rate",
    ("example", "auroc"): "AUROC",
    ("example", "auprc"): "AUPRC",
    ("span", "f1"): "Characters: F1",
    ("span", "precision"): "Characters: precision",
    ("span", "recall"): "Characters: recall",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """A table of texts; the first cell of a row names the row.

    Attributes:
        heads: Heads of the columns.
        rows: The rows, each with a cell for each column.
        says: Explanation that is shown with the table; may be empty.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    says: str = ""


def scores_table(summary: Summary) -> ReportTable:
    """Make the table of the scores of all answers, with their intervals."""
    rows: list[tuple[str, ...]] = []
    for (group, key), name in SCORES.items():
        found = summary.scores.get(group)
        if found and found[key] is not None:
            rows.append((name, with_ends(found, key)))
    gaps = f" {why_no_interval(str(rows))}".rstrip()
    flag_all = summary.scores.get("baseline_flag_all") or {}
    rows.append(("F1 of flagging every answer", percent(flag_all.get("f1"))))
    says = (
        "Positive is an answer that is hallucinated. Intervals: bootstrap of "
        f"{summary.scores['bootstrap']['n_resamples']:,} resamples of whole contexts.{gaps}"
    )
    return ReportTable(heads=("Score", "% (95 % interval)"), rows=tuple(rows), says=says)


def tasks_table(scores: Mapping[str, Any]) -> ReportTable:
    """Make the table of scores with a row for each task."""
    heads = tuple(f"{head[0].upper()}{head[1:]}" for head in COLUMNS)
    rows = tuple(row_of(name or "(none)", group) for name, group in scores["tasks"].items())
    says = f"In per cent. {why_no_interval(str(rows))}".strip()
    return ReportTable(heads=heads, rows=rows, says=says)


def labels_table(scores: Mapping[str, Any]) -> ReportTable:
    """Make the table of gold spans, with a row for each label and for each kind of span.

    A gold span is touched if the detector marked at least a part of the span.
    """
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
    """Make the table of the precision at several shares of hallucinated answers."""
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
    """Make the table of the reliability diagram, with a row for each bin that is not empty."""
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
    """Make the table of reasons why something was not checked or not fully read, with counts."""
    rows = tuple((reason, f"{n:,}") for reason, n in scores["coverage"]["reasons"].items())
    return ReportTable(heads=("Reason", "Answers"), rows=rows)


def failures_table(scores: Mapping[str, Any]) -> ReportTable:
    """Make the table of the first failed rows and their errors."""
    rows = tuple(
        (str(each["row"]), str(each["id"]), str(each["type"]), str(each["message"]))
        for each in scores["failures"]
    )
    return ReportTable(heads=("Row", "Id", "Error", "Message"), rows=rows)
