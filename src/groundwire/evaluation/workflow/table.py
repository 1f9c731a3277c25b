"""What was measured, for people: a table on a terminal, and Markdown."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from groundwire.evaluation.reports.markdown import code
from groundwire.evaluation.table import percent
from groundwire.evaluation.workflow.rows import N_VERDICTS, OUTCOMES
from groundwire.render.screen import one_line

_COLUMNS = (
    *("answers", "verdicts", "halluc.", "rate % (95 %)", "contradicted", "severity 1-4"),
    *("no verdict", "tokens in/out", "cost $"),
)
#: Characters of a name that a terminal shows.
_MAX_NAME = 40


def to_text(found: Mapping[str, Any]) -> str:
    """What :func:`.aggregate.aggregate` gives, laid out."""
    return "\n".join(_text(found))


def to_markdown(found: Mapping[str, Any]) -> str:
    """The same as Markdown; names of models and categories are no markup."""
    return "\n".join(_markdown(found)) + "\n"


def compared_to_text(found: Mapping[str, Any]) -> str:
    """What :meth:`.compare.Comparison.to_dict` gives, in sentences."""
    short = shortened([found["first"], found["second"]])
    return "\n".join(_compared(found, lambda name: short.get(name) or one_line(name)))


def groups(found: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...], Mapping[str, Any]]]:
    """All groups with what tells them apart: models, tasks, tasks of a model, another column."""
    models, tasks = found["models"], found["tasks"]
    for model, group in models.items():
        yield "model", (model,), group
    if len(tasks) > 1:
        for task, group in tasks.items():
            yield "category", (task,), group
        if len(models) > 1:
            for model, each in models.items():
                for task, group in each["tasks"].items():
                    yield "model, category", (model, task), group
    for column, values in found.get("by", {}).items():
        for value, group in values.items():
            yield column, (value,), group


def shortened(names: Iterable[str]) -> dict[str, str]:
    """Names for a terminal, on one line each; what is long is cut in its middle.

    Two that are told apart by what is cut stay whole.

    >>> short = shortened(["a" * 50, "b" * 60 + "1", "b" * 30 + "-" + "b" * 29 + "1"])
    >>> [len(each) for each in short.values()]
    [40, 61, 61]
    """
    whole = {name: one_line(name) or "(none)" for name in names}
    cut = {name: _cut(text) for name, text in whole.items()}
    n_of = Counter(cut.values())
    return {name: cut[name] if n_of[cut[name]] == 1 else text for name, text in whole.items()}


def _cut(text: str) -> str:
    half = _MAX_NAME // 2
    return text if len(text) <= _MAX_NAME else f"{text[: half - 1]}…{text[-half:]}"


def _text(found: Mapping[str, Any]) -> Iterator[str]:
    yield from _judge(found)
    yield ""
    rows = [("", *_COLUMNS), ("all", *_cells(found))]
    short = shortened(dict.fromkeys(name for _, names, _ in groups(found) for name in names))
    for kind, names, group in groups(found):
        shown = ", ".join(short[name] for name in names)
        rows.append((f"{_cut(one_line(kind))}: {shown}", *_cells(group)))
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
    yield _headline(found)
    yield ""
    yield f"| | {' | '.join(_COLUMNS)} |"
    yield f"| --- | {' | '.join(['---:'] * len(_COLUMNS))} |"
    yield f"| all | {' | '.join(_cells(found))} |"
    for kind, names, group in groups(found):
        shown = ", ".join(code(name or "(none)") for name in names)
        yield f"| {code(kind)} {shown} | {' | '.join(_cells(group))} |"
    yield ""
    for note in _notes(found):
        yield f"- {note}"
    for comparison in found.get("comparisons", ()):
        yield ""
        yield from (f"- {line}" for line in _compared(comparison, code))


def _headline(found: Mapping[str, Any]) -> str:
    if not (n := found["n_verdicts"]):
        return f"No rate: none of {found['n']:,} answers has a verdict."
    low, high = _ends(found["ci95"])
    interval = "" if found["ci95"] is None else f" (95 % interval {low} to {high} %)"
    return (
        f"**{percent(found['rate'])} %** of {n:,} {'answer' if n == 1 else 'answers'} with a "
        f"verdict {'is' if n == 1 else 'are'} hallucinated{interval}."
    )


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
        shown = ", ".join(f"{n:,} {one_line(name)}" for name, n in errors.items())
        yield f"Errors: {shown}."
    if n := found["n_dropped"]:
        yield f"Marked by the detector and acquitted by the explainer: {n:,}."
    if n := found["n_cut"]:
        yield f"Cut for their length by the model's limit: {n:,}."


def _compared(found: Mapping[str, Any], shown: Callable[[str], str]) -> Iterator[str]:
    first, second = (shown(found[side] or "(no name)") for side in ("first", "second"))
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
    yield from _pairs(found, first, second)
    unpaired = {key: n for key, n in found["unpaired"].items() if n}
    if unpaired:
        counts = ", ".join(f"{n:,} {key.replace('_', ' ')}" for key, n in unpaired.items())
        yield f"Not paired: {counts}."
    if found["n_contexts"] < found["n_pairs"]:
        yield (
            "Several questions share their sources: the interval and the test count contexts, not "
            "questions."
        )


def _pairs(found: Mapping[str, Any], first: str, second: str) -> Iterator[str]:
    if found["both"] is not None:
        yield (
            f"Hallucinated by both {found['both']:,}, by {first} alone {found['only_first']:,}, by "
            f"{second} alone {found['only_second']:,}, by neither {found['neither']:,}."
        )
        return
    used = ", ".join(
        f"{side['n_used']:,} of {side['n']:,} answers of {name}"
        for name, side in ((first, found["answers_first"]), (second, found["answers_second"]))
    )
    yield f"A question has several answers, and counts with their mean: {used}."
    yield (
        f"More often hallucinated by {first} {found['worse_first']:,}, by {second} "
        f"{found['worse_second']:,}, alike {found['alike']:,}."
    )


def _ends(interval: Sequence[float | None] | None) -> tuple[str, str]:
    low, high = interval or (None, None)
    return percent(low), percent(high)
