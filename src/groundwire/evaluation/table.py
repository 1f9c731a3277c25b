"""Lays out the scores of an evaluation as text, in per cent."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import isnan
from typing import Any

from groundwire.evaluation.intervals import MIN_CONTEXTS
from groundwire.evaluation.no_verdict import counts_without_verdict
from groundwire.render.html import render_text
from groundwire.text.screen import one_line

#: Highest number of different errors that are shown, and of further rows that are listed for each
#: error.
_MAX_FAILURES = 5
#: Matches parts of a message in which errors of one kind may differ: a file and line at the
#: beginning, and quoted texts.
_DIFFERS = re.compile(r"^.{1,400}?:\d+: |'[^']*'")
#: Limit on the characters that are shown of a task's name or of an id.
_MAX_NAME = 40

#: Heads of the table of scores.
COLUMNS = (
    *("task", "answers", "halluc.", "precision", "recall", "F1 (95 %)", "flag all"),
    *("AUROC (95 %)", "FPR", "char. F1 (95 %)"),
)


def to_text(scores: Mapping[str, Any]) -> str:
    """Lay out the scores of :meth:`.evaluation.Evaluation.to_dict` as text."""
    tasks = scores["tasks"]
    # If no answer has a task, the row of all answers is enough.
    of_tasks = () if list(tasks) == [""] else tasks.items()
    rows = [COLUMNS, *(row_of(task_name(name), group) for name, group in of_tasks)]
    table = "\n".join(aligned([*rows, row_of("all", scores)]))
    return render_text(
        "scores.txt",
        scores=scores,
        table=table,
        gaps=why_no_interval(table),
        without=counts_without_verdict(scores),
        failures=[*failures_to_text(scores)],
        percent=percent,
    )


def row_of(name: str, group: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cells of a row of the table; ``group`` has the scores of a group of answers."""
    example, span = group["example"], group["span"]
    if example is None:
        return (name, "0", *["-"] * (len(COLUMNS) - 2))
    return (
        name,
        f"{group['n_answers']:,}",
        f"{group['n_hallucinated']:,}",
        percent(example["precision"]),
        percent(example["recall"]),
        with_ends(example, "f1"),
        percent(group["baseline_flag_all"]["f1"]),
        with_ends(example, "auroc"),
        percent(example["fpr"]),
        "-" if span is None else with_ends(span, "f1"),
    )


def failures_to_text(scores: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines that list the first errors with their rows, and count the other failed rows.

    Errors that differ only in a file and line, or in quoted texts, count as one error. ``scores``
    are data of :meth:`.no_verdict.RowCounts.to_dict`.
    """
    alike: dict[str, list[Mapping[str, Any]]] = {}
    for failure in scores["failures"]:
        alike.setdefault(_DIFFERS.sub("", failure["message"]), []).append(failure)
    shown = [*alike.values()][:_MAX_FAILURES]
    for first, *others in shown:
        id_, message = one_line(str(first["id"])), one_line(first["message"])
        yield f"  row {first['row']:,}, id {id_[:_MAX_NAME]}: {message}"
        if others:
            rows = ", ".join(f"{each['row']:,}" for each in others[:_MAX_FAILURES])
            yield f"    and {len(others):,} more like it, the first in row {rows}"
    if n := scores["n_failed"] - sum(map(len, shown)):
        yield f"  and {n:,} more"


def aligned(rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)) -> Iterator[str]:
    """Lay out rows of cells; columns are right-aligned, except those with an index in ``left``."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def task_name(task: str) -> str:
    """Return the name of a task as one short line; ``(none)`` if it is empty."""
    return one_line(task)[:_MAX_NAME] or "(none)"


def percent(value: float | None) -> str:
    """Format a share in per cent; ``-`` if it is undefined: ``None`` or ``nan``."""
    return "-" if value is None or isnan(value) else f"{100 * value:.1f}"


def with_ends(scores: Mapping[str, Any], name: str) -> str:
    """Format a score in per cent with its interval, such as "81.2 (78.0 to 84.1)"."""
    return interval_text(scores[name], *scores["ci95"][name])


def interval_text(value: float | None, low: float | None, high: float | None) -> str:
    """Format a share and its interval in per cent, such as "81.2 (78.0 to 84.1)".

    Undefined numbers are shown as ``-``.
    """
    return f"{percent(value)} ({percent(low)} to {percent(high)})"


def why_no_interval(table: str) -> str:
    """Explain why a table has scores without an interval; empty if every score has one.

    The table must show scores with intervals as :func:`interval_text` formats them.
    """
    why = (
        f"No interval: under {MIN_CONTEXTS} contexts (different sources), or all scores are equal."
    )
    return why if "(- to -)" in table else ""
