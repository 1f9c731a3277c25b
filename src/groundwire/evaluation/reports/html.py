"""Writes a report as one HTML page that needs no other files."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from groundwire.detection.values import Claim, DetectorInfo, Label, Score
from groundwire.evaluation.datasets.labelled import Known
from groundwire.evaluation.no_verdict import counts_without_verdict
from groundwire.evaluation.reports import tables
from groundwire.evaluation.reports.kinds import ReportRow, RowKind
from groundwire.evaluation.reports.plots import Plot, at, of_bins, of_curve
from groundwire.evaluation.reports.summary import Summary
from groundwire.evaluation.reports.words import WordMark, marked
from groundwire.evaluation.table import percent
from groundwire.render import excerpt
from groundwire.render.descriptions import REASONS, describe_detector
from groundwire.render.html import page

#: Limit on the characters of a quotation from the evidence.
_QUOTE_CHARS = 320
#: Columns that :func:`_facts` leaves out, because a row of results has its own fields for them.
_SHOWN_ELSEWHERE = frozenset({"task", "id", "question", "answer", "context_id"})


def to_html(summary: Summary) -> str:
    """Return the HTML page: scores, plots, and example rows, worst first."""
    scores, examples, detector = summary.scores, summary.examples, summary.header.detector
    part = files(__package__)
    return page(
        "report.html",
        style=(part / "report.css").read_text(encoding="utf-8"),
        script=(part / "report.js").read_text(encoding="utf-8"),
        title=f"{'evaluation of' if scores['example'] else 'answers checked by'} {detector.name}",
        summary=summary,
        scores=scores,
        header=summary.header,
        detector=describe_detector(detector),
        parts=dict(_parts(summary)),
        sentence=sentence(summary),
        counts=_counts(scores) if scores["example"] else {},
        on_page={each.kind for each in examples},
        figures=list(_figures(summary)),
        reliability=of_bins(scores["calibration"]["bins"]) if scores["calibration"] else None,
        at=at,
        tables=tables,
        without="; ".join(counts_without_verdict(scores)),
        marks=[
            mark
            for mark in WordMark
            if any((x.row.known == Known.SPANS) != (mark is WordMark.FLAGGED) for x in examples)
        ],
        filters=_filters(summary),
        facts=_facts,
        RowKind=RowKind,
        percent=percent,
        marked=marked,
        claim_facts=_claim_facts,
        is_flagged=lambda claim: claim.label in (Label.UNSUPPORTED, Label.CONTRADICTED),
        quote=lambda text, claim: excerpt(text, around=claim, width=_QUOTE_CHARS),
    )


def _parts(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield the id and the title of each section of the page."""
    scores = summary.scores
    if scores["example"]:
        yield from (("scores", "Scores"), ("threshold", "What the threshold trades"))
    if len(scores["tasks"]) > 1:
        yield "tasks", "Tasks"
    for name in ("labels", "prevalence", "calibration"):
        if scores.get(name):
            yield name, name.capitalize()
    if scores["n_answers"]:
        yield "coverage", "Coverage and time"
    if any(counts_without_verdict(scores)):
        yield "failed", "Rows without a verdict"
    yield "examples", "Examples"


def sentence(summary: Summary) -> str:
    """Return a text that says how many answers were flagged rightly, and how many wrongly.

    If no row has a label, the text instead says how many answers were flagged and how many were
    not. Otherwise the text also says how many rows have no label. In each case, the text says how
    many rows have no verdict, for each reason.
    """
    scores = summary.scores
    if not scores["example"]:
        flagged, passed = (summary.counts[k] for k in (RowKind.FLAGGED, RowKind.NOT_FLAGGED))
        without = "".join(f"; {each}" for each in counts_without_verdict(scores))
        return (
            f"Of {scores['n']:,} rows none could be scored, for want of labels: "
            f"{flagged:,} flagged, {passed:,} not flagged{without}."
        )
    n_hallucinated = scores["n_hallucinated"]
    n_clean = max(scores["n_scored"] - n_hallucinated, 0)
    counts = _counts(scores)
    without = "; ".join(counts_without_verdict(scores)) or "each was checked"
    return (
        f"{counts[RowKind.TRUE_POSITIVE]:,} of {n_hallucinated:,} hallucinated answers were "
        f"flagged, and {counts[RowKind.FALSE_POSITIVE]:,} of {n_clean:,} others. "
        f"Of {scores['n']:,} rows {scores['n_unlabelled']:,} have no label; {without}."
    )


def _counts(scores: Mapping[str, Any]) -> dict[RowKind, int]:
    """Compute the confusion matrix: kind of row → number of answers.

    Hallucinated answers without a verdict count as false negatives; grounded answers without a
    verdict are not counted.
    """
    n_hallucinated = scores["n_hallucinated"]
    n_found = round((scores["example"]["recall"] or 0) * n_hallucinated)
    n_wrongly = scores["n_flagged"] - n_found
    return {
        RowKind.TRUE_POSITIVE: n_found,
        RowKind.FALSE_NEGATIVE: n_hallucinated - n_found,
        RowKind.FALSE_POSITIVE: n_wrongly,
        # At least 0: if no answer has a verdict, n_scored is 0, but n_hallucinated can be higher.
        RowKind.TRUE_NEGATIVE: max(scores["n_scored"] - n_hallucinated - n_wrongly, 0),
    }


def _figures(summary: Summary) -> Iterator[Plot]:
    """Yield a plot of each curve over all thresholds, with a caption; none without labels."""
    if not (scores := summary.scores["example"]):
        return
    says = (
        f"AUPRC {percent(scores['auprc'])} %: of what is flagged, how much is hallucinated.",
        f"AUROC {percent(scores['auroc'])} %: what finding more costs in false alarms.",
        "If only the answers with the least doubt are let through, so many of them are "
        "hallucinated.",
    )
    yield from map(of_curve, summary.curves, says)


def _filters(summary: Summary) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """List the filters for the examples: name, title, and the value and text of each choice."""
    examples = summary.examples
    kinds = {each.kind for each in examples}
    tasks = sorted({each.row.task for each in examples})
    outcomes = sorted({str(each.detection.outcome) for each in examples if each.detection})
    return [
        ("kind", "Verdict", [(str(kind), kind.words) for kind in RowKind if kind in kinds]),
        ("task", "Task", [(name, name or "(none)") for name in tasks]),
        ("outcome", "Outcome", [(name, name) for name in outcomes]),
    ]


def _facts(example: ReportRow) -> Iterator[str]:
    row, detection = example.row, example.detection
    if row.task:
        yield f"task {row.task}"
    if detection is not None:
        yield f"outcome {detection.outcome}"
        if example.judged is not None and example.judged.has_verdict:
            yield _doubt(example.judged.probability, detection.detector)
        if detection.probability is not None:
            yield f"P(answer hallucinated) {detection.probability:.2f}"
    for name, value in row.columns.items():
        if value and name not in _SHOWN_ELSEWHERE and len(value) <= 80:
            yield f"{name} {value}"


def _doubt(doubt: float, detector: DetectorInfo) -> str:
    if detector.score is Score.SIMILARITY:
        return f"lowest similarity {1 - doubt:.2f} (threshold {detector.threshold:g})"
    return f"highest doubt of a claim {doubt:.2f} (threshold {detector.threshold:g})"


def _claim_facts(claim: Claim) -> Iterator[str]:
    if claim.label is Label.UNCHECKED and claim.reason is not None:
        yield REASONS[claim.reason]
    if claim.probability is not None:
        yield f"P(not supported) {claim.probability:.2f}"
    if claim.similarity is not None:
        yield f"similarity {claim.similarity:.2f}"
    if (found := claim.entailment) is not None:
        yield (
            f"entailed {found.entailment:.2f}, neutral {found.neutral:.2f}, "
            f"contradicted {found.contradiction:.2f}"
        )
    if claim.citations:
        yield f"cites {', '.join(claim.citations)}"
