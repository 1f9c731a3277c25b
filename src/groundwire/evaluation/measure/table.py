"""Lays out the rates of hallucinated answers as text."""

from collections.abc import Iterator, Mapping
from typing import Any

from groundwire.evaluation.measure.verdicts import VERDICTS
from groundwire.evaluation.table import aligned, interval_text, percent, why_no_interval
from groundwire.render.html import render_text
from groundwire.text.screen import one_line

_COLUMNS = (
    *("answers", "verdicts", "halluc.", "rate % (95 %)", "contradicted", "severity 1-4"),
    *("no verdict", "tokens in/out"),
)


def to_text(found: Mapping[str, Any]) -> str:
    """Lay out the result of :func:`.rates.rates` as text."""
    outcomes = found["outcomes"].items()
    table = "\n".join(aligned([("", *_COLUMNS), *_rows(found)]))
    return render_text(
        "measure.txt",
        found=found,
        table=table,
        gaps=why_no_interval(table),
        without=_counted({name: n for name, n in outcomes if name not in VERDICTS}),
        errors=_counted(found["errors"]),
        percent=percent,
    )


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {one_line(name).replace('_', ' ')}" for name, n in counts.items() if n)


def _shown(name: str) -> str:
    return one_line(name) or "(none)"


def _rows(found: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the row of all answers, and a row for each model.

    If there are several tasks, a row for each task follows; the table calls tasks categories. If
    there are also several models, the last rows are for the pairs of model and task with answers.
    """
    yield "all", *_cells(found)
    models, tasks = found["models"], found["tasks"]
    for model, group in models.items():
        yield f"model: {_shown(model)}", *_cells(group)
    if len(tasks) > 1:
        for task, group in tasks.items():
            yield f"category: {_shown(task)}", *_cells(group)
        for model, each in models.items() if len(models) > 1 else ():
            for task, group in each["tasks"].items():
                yield f"model, category: {_shown(model)}, {_shown(task)}", *_cells(group)


def _cells(group: Mapping[str, Any]) -> tuple[str, ...]:
    severity, tokens = group["severity"]["answers"], group["tokens"]
    return (
        f"{group['n']:,}",
        f"{group['n_verdicts']:,}",
        f"{group['n_hallucinated']:,}",
        interval_text(group["rate"], *(group["ci95"] or (None, None))),
        f"{group['contradiction']['n']:,}",
        "/".join(str(severity[str(i)]) for i in range(1, 5)),
        f"{group['n'] - group['n_verdicts']:,}",
        f"{tokens['prompt']:,}/{tokens['completion']:,}",
    )
