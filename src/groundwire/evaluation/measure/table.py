"""Lays out the rates of hallucinated answers as text tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from groundwire.evaluation.measure.verdicts import OUTCOMES, VERDICTS
from groundwire.evaluation.table import aligned, percent
from groundwire.text.screen import one_line

_COLUMNS = (
    *("answers", "verdicts", "halluc.", "rate % (95 %)", "contradicted", "severity 1-4"),
    *("no verdict", "tokens in/out", "cost $"),
)


def to_text(found: Mapping[str, Any]) -> str:
    """Lay out the result of :func:`.rates.rates` as text."""
    detector = found["detector"]
    lines = [
        f"judged by {one_line(detector['name'])} {detector['revision'][:12]}, "
        f"{one_line(detector['operating_point'])} ({detector['threshold']:g})",
        "",
        *aligned([("", *_COLUMNS), *_rows(found)]),
        "",
        *_notes(found),
    ]
    for comparison in found.get("comparisons", ()):
        lines += ["", compared_to_text(comparison)]
    return "\n".join(lines)


def compared_to_text(found: Mapping[str, Any]) -> str:
    """Describe the result of :func:`.compare.compare` in sentences."""
    return "\n".join(_compared(found))


def _shown(name: str) -> str:
    return one_line(name) or "(none)"


def _rows(found: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the row of all answers, and a row for each group of them.

    A group has the same model, the same category, both, or the same value of the column to group
    by.
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
    for column, values in found.get("by", {}).items():
        for value, group in values.items():
            yield f"{_shown(column)}: {_shown(value)}", *_cells(group)


def _cells(group: Mapping[str, Any]) -> tuple[str, ...]:
    severity, tokens, cost = group["severity"]["answers"], group["tokens"], group.get("cost")
    low, high = _ends(group["ci95"])
    return (
        f"{group['n']:,}",
        f"{group['n_verdicts']:,}",
        f"{group['n_hallucinated']:,}",
        f"{percent(group['rate'])} ({low} to {high})",
        f"{group['contradiction']['n']:,}",
        "/".join(str(severity[str(i)]) for i in range(1, 5)),
        f"{group['n'] - group['n_verdicts']:,}",
        f"{tokens['prompt']:,}/{tokens['completion']:,}",
        "-" if cost is None else f"{cost:.4f}",
    )


def _notes(found: Mapping[str, Any]) -> Iterator[str]:
    contradiction = found["contradiction"]
    if n := found["n_hallucinated"]:
        low, high = _ends(contradiction["ci95"])
        more = "; the others add to them" if contradiction["n"] < n else ""
        yield (
            f"Of the hallucinated answers, {percent(contradiction['ratio'])} % ({low} to {high}) "
            f"contradict their sources{more}."
        )
    without = {name: found["outcomes"][name] for name in OUTCOMES if name not in VERDICTS}
    if any(without.values()):
        shown = ", ".join(f"{n:,} {name}" for name, n in without.items() if n)
        low, high = (percent(end) for end in found["bounds"])
        yield (
            f"Without a verdict, and in no rate: {shown}. Whatever they are, between {low} and "
            f"{high} % of all answers are hallucinated."
        )
    if errors := found["errors"]:
        yield f"Errors: {', '.join(f'{n:,} {one_line(name)}' for name, n in errors.items())}."
    if n := found["n_cut"]:
        yield f"Cut for their length by the model's limit: {n:,}."


def _compared(found: Mapping[str, Any]) -> Iterator[str]:
    first, second = (one_line(found[side] or "(no name)") for side in ("first", "second"))
    if "problem" in found:
        yield f"{second} against {first}: {one_line(found['problem'])}"
        return
    low, high = _ends(found["ci95"])
    n_contexts = found["n_contexts"]
    yield (
        f"{second} against {first}, on {found['n_pairs']:,} questions of {n_contexts:,} "
        f"{'context' if n_contexts == 1 else 'contexts'}: {percent(found['rate_second'])} % "
        f"against {percent(found['rate_first'])} %, {100 * found['difference']:+.1f} points "
        f"({low} to {high}), p = {found['p_value']:.3g} (sign flips of contexts)."
    )
    yield (
        f"More often hallucinated by {first} {found['worse_first']:,}, by {second} "
        f"{found['worse_second']:,}, alike {found['alike']:,}."
    )
    unpaired = {key: n for key, n in found["unpaired"].items() if n}
    if unpaired:
        counts = ", ".join(f"{n:,} {key.replace('_', ' ')}" for key, n in unpaired.items())
        yield f"Not paired: {counts}."
    if n_contexts < found["n_pairs"]:
        yield (
            "Several questions share their sources: the interval and the test count contexts, not "
            "questions."
        )


def _ends(interval: Sequence[float | None] | None) -> tuple[str, str]:
    low, high = interval or (None, None)
    return percent(low), percent(high)
