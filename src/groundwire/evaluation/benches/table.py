"""Text table of a detector's result on a benchmark, beside published scores."""

from collections.abc import Iterator
from math import isnan

from groundwire.evaluation.benches.metric import BenchScore
from groundwire.evaluation.benches.registry import BENCHES
from groundwire.evaluation.benches.result import BenchResult
from groundwire.evaluation.table import aligned, interval_text, percent
from groundwire.evaluation.table import to_text as scores_to_text
from groundwire.render.html import render_text
from groundwire.text.screen import one_line


def to_text(result: BenchResult, *, wall_s: float | None = None) -> str:
    """Lay out a result: the data, the scores, and a table with published results.

    ``wall_s`` is the duration of the whole run, in seconds; by default the sum of the durations
    of all checks.
    """
    notes: list[str] = []
    rows = [*_rows(result, notes)]
    return render_text(
        "bench.txt",
        result=result,
        scores=scores_to_text(result.evaluation.to_dict(wall_s=wall_s)),
        table="\n".join(aligned(rows, left=(0, len(rows[0]) - 1))),
        notes=notes,
    )


def listed() -> str:
    """Describe all benchmarks as text, for users who choose one."""
    return render_text("benches.txt", benches=BENCHES.values())


def _rows(result: BenchResult, notes: list[str]) -> Iterator[list[str]]:
    """Yield the head of the table, the rows of this run, and a row for each published result.

    Notes on published results are added to ``notes``.
    """
    bench = result.bench
    names = [metric.name for metric in bench.metrics]
    yield ["system", *names, "source"]
    detector = result.evaluation.header.detector
    ours, run = one_line(detector.name), f"this run at {detector.threshold:g}"
    yield [f"> {ours}", *map(_with_ends, result.scores.values()), f"{run}, with 95 % intervals"]
    for name, scores in result.variants.items():
        yield [f"> {name}", *map(_with_ends, scores.values()), run]
    flag_all = ["-" if each is None else percent(each.value) for each in result.flag_all.values()]
    yield ["flag everything", *flag_all, "this run"]
    for each in bench.published:
        mark = _noted(notes, each.get("note", ""))
        cells = [_printed(each["scores"].get(name)) for name in names]
        yield [each["system"] + mark, *cells, each["source"]]


def _with_ends(score: BenchScore) -> str:
    return "-" if isnan(score.value) else interval_text(score.value, score.low, score.high)


def _printed(value: float | None) -> str:
    """Format a published score with as many decimals as it has, one or two; ``-`` for ``None``."""
    if value is None:
        return "-"
    return f"{value:.1f}" if round(value, 1) == value else f"{value:.2f}"


def _noted(notes: list[str], note: str) -> str:
    """Return the mark of a note, such as " [1]", and add the note to ``notes`` if it is new.

    The mark of an empty note is empty.
    """
    if not note:
        return ""
    if note not in notes:
        notes.append(note)
    return f" [{notes.index(note) + 1}]"
