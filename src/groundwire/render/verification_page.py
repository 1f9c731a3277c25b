"""A verification of cited claims as one HTML page that stands alone."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from groundwire.render.descriptions import pieces
from groundwire.render.sheet import escaped, section, sheet, table
from groundwire.render.verification import (
    amount,
    describe_citations,
    describe_outcome,
    describe_settings,
    describe_statuses,
    describe_verifier,
    doubts_of,
    probability,
)
from groundwire.verify.citations import CitationFinding
from groundwire.verify.report import ClaimReport, VerificationReport
from groundwire.verify.spans import CitedSpan

_CAPTION = (
    "P is the probability that the evidence states the claim: with what it cites, and without. "
    "What is needed takes the claim from the second to its target; what is found took it to the "
    "first."
)
_CITATIONS = (
    "Rests on: the spans that support the claim, cited or not. Adds: what a cited span adds to "
    "the others."
)


def report_to_html(report: VerificationReport, spans: Sequence[CitedSpan] = ()) -> str:
    """One page that stands alone: no scripts, nothing loaded, light and dark.

    Args:
        report: What was found.
        spans: The evidence; claims then lead to what they cite.
    """
    places = {span.sid: number for number, span in enumerate(spans, 1)}
    title = "not verified" if report.error else "flagged" if report.flagged else "passed"
    parts = (
        f"<p>{escaped(_sentence(describe_outcome(report)))}</p>",
        _list(describe_statuses(report)),
        _claims(report, places),
        _citations(report),
        _unscored(report),
        _evidence(spans),
        f"<footer>Settings: {escaped(describe_settings(report))}. "
        f"Judged by {escaped(describe_verifier(report))}.</footer>",
    )
    return sheet(title, "\n".join(parts))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def _list(items: Iterable[str]) -> str:
    found = "".join(f"<li>{escaped(each)}</li>" for each in items)
    return f"<ul>{found}</ul>" if found else ""


def _claims(report: VerificationReport, places: Mapping[str, int]) -> str:
    if not report.details:
        return ""
    units = escape(str(report.setup.units))
    heads = ("No.", "Claim", "Cites", "Status", "Target", "P with", "P without")
    budget = (f"{units} needed", f"{units} found", f"{units} missing")
    rows = "".join(_claim(each, places) for each in report.details)
    what = report.setup.words.scored.partition("_")[0].capitalize()
    return section(escape(what), table((*heads, *budget), rows, caption=_CAPTION))


def _claim(detail: ClaimReport, places: Mapping[str, int]) -> str:
    claim, measures = detail.claim, detail.measures
    cites = [_cited(sid, places) for sid in claim.cites]
    cites += [f"<bdi>{escaped(each)}</bdi> (no such span)" for each in claim.unknown]
    reasons = ", ".join(map(str, detail.decision.reasons))
    status = f"<em>{escape(str(detail.status))}</em>" if detail.flagged else str(detail.status)
    cells = (
        str(claim.idx),
        f'<div class="text" dir="auto">{_marked(detail)}</div>',
        ", ".join(cites) or "none",
        f"{status}<br>{escape(reasons)}" if reasons and reasons != detail.status else status,
        f"{detail.target:g}",
        probability(detail.posterior),
        probability(detail.prior),
        *map(amount, (measures.required, measures.observed, measures.gap)),
    )
    return _row(cells)


def _marked(detail: ClaimReport) -> str:
    return "".join(
        escaped(text)
        if doubt is None
        else f'<mark class="{escape(str(doubt.label))}">{escaped(text)}</mark>'
        for text, doubt in pieces(detail.claim.text, doubts_of(detail))
    )


def _cited(sid: str, places: Mapping[str, int]) -> str:
    name = f"<bdi>{escaped(sid)}</bdi>"
    return f'<a href="#span-{places[sid]}">{name}</a>' if sid in places else name


def _citations(report: VerificationReport) -> str:
    if report.citations is None:
        return ""
    heads = ("No.", "Citations", "Rests on", "Adds, bits", "Words without support")
    rows = "".join(map(_finding, report.citations.findings))
    return section("Citations", table(heads, rows, caption=_CITATIONS))


def _finding(finding: CitationFinding) -> str:
    adds = ", ".join(f"{escaped(sid)}: {bits:.1f}" for sid, bits in finding.bits.items())
    words = "; ".join(escaped(doubt.text) for doubt in finding.unsupported)
    said = escaped(describe_citations(finding))
    error = f"<br>{escaped(finding.error)}" if finding.error else ""
    rests = ", ".join(f"<bdi>{escaped(sid)}</bdi>" for sid in finding.supported_by)
    return _row((str(finding.idx), said + error, rests or "none", adds, words))


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _unscored(report: VerificationReport) -> str:
    items = "".join(f"<li>{claim.idx}: {escaped(claim.text)}</li>" for claim in report.unscored)
    if not report.truncated:
        return ""
    why = f"<p>There are claims beyond max_claims ({report.setup.max_claims:,}).</p>"
    return section("Not verified", why + (f"<ul>{items}</ul>" if items else ""))


def _evidence(spans: Sequence[CitedSpan]) -> str:
    figures = "".join(
        f'<figure id="span-{number}"><figcaption><bdi>{escaped(span.sid)}</bdi></figcaption>'
        f'<blockquote class="text answer" dir="auto">{escaped(span.text)}</blockquote></figure>'
        for number, span in enumerate(spans, 1)
    )
    return section("Evidence", figures) if figures else ""
