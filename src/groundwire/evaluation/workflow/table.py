"""What was measured, for people: a table on a terminal, and Markdown."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from groundwire.evaluation.reports.markdown import code
from groundwire.evaluation.table import percent
from groundwire.evaluation.workflow.rows import N_VERDICTS, OUTCOMES
from groundwire.render.screen import one_line

_COLUMNS = (
    *("answers", "verdicts", "halluc.", "rate % (95 %)", "contradicted", "severity 1-4"),
    *("no verdict", "tokens in/out", "cost $"),
)
#: Characters of a name that are shown.
_MAX_NAME = 40


def to_text(found: Mapping[str, Any]) -> str:
    """What :func:`.aggregate.aggregate` gives, laid out."""
    return "\n".join(_text(found))


def to_markdown(found: Mapping[str, Any]) -> str:
    """The same as Markdown; names of models and categories are no markup."""
    return "\n".join(_markdown(found)) + "\n"


def compared_to_text(found: Mapping[str, Any]) -> str:
    """What :meth:`.compare.Comparison.to_dict` gives, in sentences."""
    return "\n".join(_compared(found, one_line))


def groups(found: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """All groups with what tells them apart: models, tasks, tasks of a model, another column."""
    models, tasks = found["models"], found["tasks"]
    for model, group in models.items():
        yield "model", model, group
    if len(tasks) > 1:
        for task, group in tasks.items():
            yield "category", task, group
        if len(models) > 1:
            for model, each in models.items():
                for task, group in each["tasks"].items():
                    yield "model, category", f"{model}, {task}", group
    for column, values in found.get("by", {}).items():
        for value, group in values.items():
            yield column, value, group


def _text(found: Mapping[str, Any]) -> Iterator[str]:
    yield from _judge(found)
    yield ""
    rows = [("", *_COLUMNS), ("all", *_cells(found))]
    for kind, name, group in groups(found):
        shown = one_line(name)[:_MAX_NAME] or "(none)"
        rows.append((f"{one_line(kind)[:_MAX_NAME]}: {shown}", *_cells(group)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *rest = row
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()
    yield ""
    yield from _notes(found)
    for comparison in found.get("comparisons", ()):
        yield ""
        yield compared_to_text(comparison)


def _judge(found: Mapping[str, Any]) -> Iterator[str]:
    if detector := found["detector"]:
        yield (
            f"judged by {one_line(str(detector['name']))} {str(detector['revision'])[:12]}, "
            f"{one_line(str(detector['operating_point']))} ({detector['threshold']:g})"
        )


def _markdown(found: Mapping[str, Any]) -> Iterator[str]:
    yield "### Hallucinations"
    yield ""
    low, high = _ends(found["ci95"])
    yield (
        f"**{percent(found['rate'])} %** of {found['n_verdicts']:,} answers with a verdict are "
        f"hallucinated (95 % interval {low} to {high} %)."
    )
    yield ""
    yield f"| | {' | '.join(_COLUMNS)} |"
    yield f"| --- | {' | '.join(['---:'] * len(_COLUMNS))} |"
    yield f"| all | {' | '.join(_cells(found))} |"
    for kind, name, group in groups(found):
        yield f"| {code(kind)} {code(name[:_MAX_NAME])} | {' | '.join(_cells(group))} |"
    yield ""
    for note in _notes(found):
        yield f"- {note}"
    for comparison in found.get("comparisons", ()):
        yield ""
        yield from (f"- {line}" for line in _compared(comparison, code))


def _cells(group: Mapping[str, Any]) -> tuple[str, ...]:
    contradiction, severity = group["contradiction"], group["severity"]["answers"]
    low, high = _ends(group["ci95"])
    tokens, cost = group["tokens"], group.get("cost")
    return (
        f"{group['n']:,}",
        f"{group['n_verdicts']:,}",
        f"{group['n_hallucinated']:,}",
        f"{percent(group['rate'])} ({low} to {high})",
        f"{contradiction['n']:,}",
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
    without = {name: found["outcomes"][name] for name in OUTCOMES[N_VERDICTS:]}
    if any(without.values()):
        shown = ", ".join(f"{n:,} {name}" for name, n in without.items() if n)
        low, high = (percent(end) for end in found["bounds"])
        yield (
            f"Without a verdict, and in no rate: {shown}. Whatever they are, between {low} and "
            f"{high} % of all answers are hallucinated."
        )
    if errors := found["errors"]:
        shown = ", ".join(f"{n:,} {one_line(name)[:_MAX_NAME]}" for name, n in errors.items())
        yield f"Errors: {shown}."
    if n := found["n_dropped"]:
        yield f"Marked by the detector and acquitted by the explainer: {n:,}."
    if n := found["n_cut"]:
        yield f"Cut for their length by the model's limit: {n:,}."


def _compared(found: Mapping[str, Any], shown: Callable[[str], str]) -> Iterator[str]:
    names = (found["first"][:_MAX_NAME], found["second"][:_MAX_NAME])
    first, second = (shown(name or "(no name)") for name in names)
    if "problem" in found:
        yield f"{second} against {first}: {shown(found['problem'])}"
        return
    low, high = _ends(found["ci95"])
    points = 100 * found["difference"]
    n_contexts = found["n_contexts"]
    contexts = f"{n_contexts:,} {'context' if n_contexts == 1 else 'contexts'}"
    yield (
        f"{second} against {first}, on {found['n_pairs']:,} questions of {contexts}: "
        f"{percent(found['rate_second'])} % against "
        f"{percent(found['rate_first'])} %, {points:+.1f} points ({low} to {high}), "
        f"p = {found['p_value']:.3g} ({found['p_method']})."
    )
    yield (
        f"Hallucinated by both {found['both']:,}, by {first} alone {found['only_first']:,}, by "
        f"{second} alone {found['only_second']:,}, by neither {found['neither']:,}."
    )
    unpaired = {key: n for key, n in found["unpaired"].items() if n}
    if unpaired:
        counts = ", ".join(f"{n:,} {key.replace('_', ' ')}" for key, n in unpaired.items())
        yield f"Not paired: {counts}."
    if found["n_contexts"] < found["n_pairs"]:
        yield (
            "Several questions share their sources: the interval and the test count contexts, not "
            "questions."
        )


def _ends(interval: Sequence[float | None] | None) -> tuple[str, str]:
    low, high = interval or (None, None)
    return percent(low), percent(high)
