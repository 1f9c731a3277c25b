"""The fourth step: how bad each finding is, and what is left of an answer's verdict.

The explainer says of each span what is wrong with it; where the evidence says the same after all,
the span is dropped, as the pipeline does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from groundwire.detection import SEVERITY, Claim, Label, Outcome
from groundwire.evaluation.datasets.files import AnyRow, FailedRow
from groundwire.evaluation.judged import JudgedRow, ResultsError, read_judged
from groundwire.evaluation.workflow.answers import (
    COMPLETION_TOKENS,
    FINISH,
    MODEL,
    PROMPT_TOKENS,
    QUESTION,
)
from groundwire.evaluation.workflow.questions import fingerprint
from groundwire.evaluation.workflow.stage import Stage, append, count_done
from groundwire.example import Source
from groundwire.explain import Explained, Explanation
from groundwire.loading import AnyExplainer
from groundwire.saved import detection_of

#: What became of an answer that could not be read, made or checked: no outcome of a detection.
FAILED = "failed"

#: Columns that are not told again among the others.
_OWN = (QUESTION, MODEL, FINISH, PROMPT_TOKENS, COMPLETION_TOKENS)


def classify(
    results: Path,
    answers: Iterable[AnyRow],
    explainer: AnyExplainer,
    *,
    output: Path,
    stage: Stage,
    replace: bool = False,
    on_row: Callable[[int], None] = lambda _: None,
) -> int:
    """Classify all results that are not classified yet; how many rows the file has then.

    Args:
        results: What the detector made of the answers.
        answers: The same answers, with their sources.
        explainer: Says what is wrong with a span.
        output: The file of classified answers; it is made, or continued.
        stage: Its first line.
        replace: Whether what is in the file goes.
        on_row: Told how many rows are done.

    Raises:
        ResultsError: If the results are of other answers.
        StageError: If the file belongs to another run.
    """
    n = 0 if replace else count_done(output, stage)
    left = islice(with_sources(results, answers), n, None)
    rows = (classified(row, sources, explainer) for row, sources in left)
    for _ in append(output, stage, rows, replace=replace):
        n += 1
        on_row(n)
    return n


def explainer_settings(explainer: AnyExplainer, *, keeps_entailed: bool) -> dict[str, Any]:
    """What tells an explainer from others, as JSON data: what is in its files, not where they are.

    A folder goes by its own name, so that it is the same from wherever it is named.
    """
    folder = Path(explainer.name)
    return {
        "name": folder.resolve().name if folder.is_dir() else explainer.name,
        "revision": explainer.revision,
        "keeps_entailed": keeps_entailed,
    }


def with_sources(
    results: Path, answers: Iterable[AnyRow]
) -> Iterator[tuple[JudgedRow, tuple[Source, ...]]]:
    """Each result with the texts of its sources, which results do not have.

    Both are in nearly the same order, so that few answers wait in memory.

    Raises:
        ResultsError: If a result is not of these answers.
    """
    waiting: dict[int, AnyRow] = {}
    left = iter(answers)
    for row in read_judged(results):
        while row.row not in waiting:
            if (answer := next(left, None)) is None:
                break
            waiting[answer.row] = answer
        found = waiting.pop(row.row, None)
        if found is None or found.sha256 != row.sha256:
            raise ResultsError(
                results,
                None,
                f"row {row.row:,} is not of the answers that are given: give the file that it was "
                "made from, with the same --column options",
            )
        yield row, () if isinstance(found, FailedRow) else found.answer.example.sources


def classified(
    row: JudgedRow, sources: tuple[Source, ...], explainer: AnyExplainer
) -> dict[str, Any]:
    """One result, and how bad it is."""
    columns = row.columns
    told: dict[str, Any] = {
        "row": row.row,
        "id": row.id,
        "question_id": columns.get(QUESTION, row.id),
        "question_sha256": fingerprint(row.question, (each["sha256"] for each in row.sources)),
        "model": columns.get(MODEL, ""),
        "task": row.task,
        "context_id": row.context_id,
        "columns": {name: value for name, value in columns.items() if name not in _OWN},
        "finish_reason": columns.get(FINISH, ""),
        "prompt_tokens": _count(columns, PROMPT_TOKENS),
        "completion_tokens": _count(columns, COMPLETION_TOKENS),
        "error": None if row.error is None else dict(row.error),
        "sha256": row.sha256,
    }
    if row.detection is None:
        nothing: dict[str, Any] = {
            "label": None,
            "severity": None,
            "spans": [],
            "n_dropped": 0,
            "reason": None,
        }
        return {**told, "detected": FAILED, "outcome": FAILED, **nothing, "claims": {}}
    detection = detection_of(row.detection, row.answer)
    explained = explainer.explain(detection, sources)
    return {**told, "detected": str(detection.outcome), **verdict_of(explained)}


def verdict_of(explained: Explained) -> dict[str, Any]:
    """What an explained detection comes to.

    ``label`` and ``severity`` are those of the worst span. Without a span they are ``supported``
    and 0 where the answer is grounded, and nothing where that is not known.
    """
    spans, outcome = explained.explanations, explained.detection.outcome
    label: str | None = None
    severity: int | None = None
    if spans:
        label = str(max((each.label for each in spans), key=SEVERITY.__getitem__))
        severity = explained.max_severity
    elif outcome is Outcome.GROUNDED:
        label, severity = str(Label.SUPPORTED), 0
    return {
        "outcome": str(outcome),
        "label": label,
        "severity": severity,
        "spans": [_span(each) for each in spans],
        "n_dropped": len(explained.dropped),
        "reason": explained.reason,
        "claims": _labels(explained.detection.claims),
    }


def _count(columns: Mapping[str, str], name: str) -> int:
    """A number of tokens; anybody's table may have anything in a column of that name."""
    text = columns.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def _span(each: Explanation) -> dict[str, Any]:
    return {
        "start": each.start,
        "end": each.end,
        "label": str(each.label),
        "category": str(each.category),
        "subtype": str(each.subtype),
        "severity": each.severity,
    }


def _labels(claims: Iterable[Claim]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for claim in claims:
        counts[str(claim.label)] = counts.get(str(claim.label), 0) + 1
    return counts
