"""A detection as one HTML page that stands alone."""

from html import escape

from groundwire.detection import Coverage, Detection, EvidenceRef, Span
from groundwire.render.descriptions import (
    REASONS,
    describe_coverage,
    describe_detector,
    describe_label,
    describe_reasons,
    describe_score,
    explain_outcome,
    pieces,
    unchecked,
)
from groundwire.render.sheet import escaped, section, sheet, table


def to_html(detection: Detection, *, question: str | None = None) -> str:
    """One page that stands alone: no scripts, nothing loaded, light and dark.

    Args:
        detection: What was found.
        question: What was asked; the page shows it above the answer.
    """
    parts = (
        f"<p>{escape(explain_outcome(detection).capitalize())}.</p>",
        section("Question", f'<div class="text">{escaped(question)}</div>') if question else "",
        section("Answer", f'<div class="text answer" dir="auto">{_answer(detection)}</div>'),
        _spans(detection.spans),
        _unchecked_claims(detection),
        section("Coverage", _coverage(detection.coverage)),
        _timings(detection),
        f"<footer>Judged by {escaped(describe_detector(detection.detector))}.</footer>",
    )
    return sheet(str(detection.outcome), "\n".join(parts))


def _answer(detection: Detection) -> str:
    written, number = [], 0
    for text, span in pieces(detection.answer, detection.spans):
        if span is None:
            written.append(escaped(text))
            continue
        number += 1
        label = escape(str(span.label))
        written.append(
            f'<mark class="{label}" id="mark-{number}">{escaped(text)}'
            f'<a href="#span-{number}"> {number} {label}</a></mark>'
        )
    return "".join(written)


def _spans(spans: tuple[Span, ...]) -> str:
    if not spans:
        return ""
    rows = "".join(
        f'<tr id="span-{number}"><td><a href="#mark-{number}">{number}</a></td>'
        f"<td>{escaped(span.text)}</td><td>{escape(describe_label(span))}</td>"
        f"<td>{describe_score(span)}</td><td>{span.severity} of 4</td>"
        f"<td>{span.start}-{span.end}</td>"
        f"<td>{''.join(map(_evidence, span.evidence)) or 'none'}</td></tr>"
        for number, span in enumerate(spans, 1)
    )
    names = ("No.", "Words", "Label", "Score", "Severity", "Characters", "Held against")
    caption = (
        "Probability is that of being unsupported: 1 is worst. Similarity is that to the nearest "
        "source: 1 is best."
    )
    return section("Words without support", table(names, rows, caption=caption))


def _evidence(reference: EvidenceRef) -> str:
    return (
        f"<figure><figcaption><bdi>{escaped(reference.source_id)}</bdi>, characters "
        f'{reference.start}-{reference.end}</figcaption><blockquote class="text" dir="auto">'
        f"{escaped(reference.text)}</blockquote></figure>"
    )


def _unchecked_claims(detection: Detection) -> str:
    items = "".join(
        f"<li>{escaped(claim.text)} "
        f"<em>({escape(REASONS[claim.reason]) if claim.reason else 'no reason given'})</em></li>"
        for claim in unchecked(detection)
    )
    return section("Not checked", f"<ul>{items}</ul>") if items else ""


def _coverage(coverage: Coverage) -> str:
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in describe_reasons(coverage))
    line = escape(describe_coverage(coverage))
    return f"<p>{line}</p>" + (f"<ul>{reasons}</ul>" if reasons else "")


def _timings(detection: Detection) -> str:
    if not detection.timings_ms:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escaped(stage)}</th><td>{ms:.1f} ms</td></tr>'
        for stage, ms in detection.timings_ms.items()
    )
    return section("Time by stage", f"<table><tbody>{rows}</tbody></table>")
