"""Formats results as a few lines of text, which agents and people read first.

Quoted texts are not trusted. They are put on one line, and visible characters replace those that
control a terminal.
"""

from collections.abc import Iterable, Mapping, Sequence

from groundwire.detection.values import Detection
from groundwire.explain import Explained
from groundwire.mcp.store import HeldSpan, SearchHit
from groundwire.render import descriptions
from groundwire.render.verification import STATUSES, amount, describe_passing
from groundwire.text.screen import one_line
from groundwire.verify.citations import CitationFinding
from groundwire.verify.report import ClaimReport, VerificationReport

MAX_LINES = 40
_MAX_QUOTE_CHARS = 160


def quoted(text: str) -> str:
    """Cut a text to one short line without control characters."""
    line = one_line(text)
    return line if len(line) <= _MAX_QUOTE_CHARS else f"{line[: _MAX_QUOTE_CHARS - 1]}…"


def lines_of(head: str, lines: Sequence[str]) -> str:
    """Join a first line and at most :data:`MAX_LINES` further lines; count the lines left out."""
    shown = list(lines[:MAX_LINES])
    if len(lines) > len(shown):
        shown.append(f"... and {len(lines) - len(shown)} more, in the structured result.")
    return "\n".join([head, *shown])


def report_text(report: VerificationReport) -> str:
    """Return the report of a verification as text: a summary, then lines about claims."""
    if report.error is not None:
        return f"FLAGGED: nothing was verified ({report.error_type}). {one_line(report.error)}"
    if not (report.details or report.flagged):
        return "Nothing was verified, for there is nothing to verify: no steps."
    n_flagged = sum(each.flagged for each in report.details)
    head = f"{n_flagged} of {len(report.details)} {report.setup.noun} are flagged"
    if report.truncated:
        head += f"; {len(report.unscored) or 'some'} more were not verified, beyond max_claims"
    by = ", ".join(filter(None, (report.setup.backend, one_line(report.setup.verifier_model))))
    by += describe_passing(report)
    head = f"{'FLAGGED' if report.flagged else 'Passed'}: {head}. Verifier: {by}."
    return lines_of(head, [_claim_line(each) for each in report.details])


def _claim_line(detail: ClaimReport) -> str:
    claim = detail.claim
    cites = f" [{', '.join(map(one_line, claim.cites))}]" if claim.cites else ""
    line = f"{claim.idx}. {detail.status}: {quoted(claim.text)}{cites}"
    if detail.flagged:
        line += f" - {STATUSES[detail.status]}"
    if claim.unknown:
        line += f" - names no span: {quoted(', '.join(claim.unknown))}"
    if detail.measures.gap is not None:
        line += f" - budget gap {amount(detail.measures.gap)} {detail.units}"
    if detail.error is not None:
        line += f" - {quoted(detail.error)}"
    return line


def origins_text(origins: Mapping[str, str]) -> str:
    r"""Return a line to append to a result: the origins of the evidence; empty without evidence.

    >>> origins_text({"S0": "held_file", "mine": "caller"})
    '\nEvidence: held_file (S0), caller (mine).'
    """
    ids: dict[str, list[str]] = {}
    for sid, origin in origins.items():
        ids.setdefault(origin, []).append(sid)
    listed = [f"{origin} ({quoted(', '.join(sids))})" for origin, sids in ids.items()]
    return f"\nEvidence: {', '.join(listed)}." if listed else ""


def citations_text(findings: Sequence[CitationFinding], *, n_flagged: int, n_unread: int) -> str:
    """Return the findings about citations as text: a summary, then lines about claims."""
    head = f"The citations of {n_flagged} of {len(findings)} claims are not sound"
    if n_unread:
        head += f"; {n_unread} more were not checked, beyond max_claims"
    is_flagged = bool(n_flagged or n_unread or not findings)
    return lines_of(
        f"{'FLAGGED' if is_flagged else 'Passed'}: {head}.", [_finding_line(f) for f in findings]
    )


def _finding_line(found: CitationFinding) -> str:
    facts = {
        "cites": found.cites,
        "names no span": found.fabricated,
        "rests on": found.supported_by,
        "adds nothing": found.decorative,
        "not supported": tuple(doubt.text for doubt in found.unsupported),
        "error": (found.error,) if found.error else (),
    }
    parts = [f"{name}: {quoted(', '.join(each))}" for name, each in facts.items() if each]
    return " - ".join([f"{found.idx}. {found.status}: {quoted(found.claim)}", *parts])


def answer_text(explained: Explained) -> str:
    """Return the result of a check as text: outcome, marked spans, and what was not read."""
    detection = explained.detection
    head = f"{detection.outcome}: {descriptions.explain_outcome(detection)}."
    marked = [
        f'{span.label}: "{quoted(span.text)}" - {quoted(why.text)}'
        for span, why in zip(detection.spans, explained.explanations, strict=True)
    ]
    return lines_of(head, [*marked, *_unread_lines(detection)])


def _unread_lines(detection: Detection) -> Iterable[str]:
    for claim in descriptions.unchecked(detection):
        yield f'not read ({claim.reason}): "{quoted(claim.text)}"'
    if not detection.coverage.is_complete:
        yield f"coverage: {descriptions.describe_coverage(detection.coverage)}"
        yield from descriptions.describe_reasons(detection.coverage)


def span_line(span: HeldSpan) -> str:
    """Return a line that describes a held span, without its text."""
    place = span.place
    where = f"{place.path}:{place.start_line}-{place.end_line}" if place else "added as a text"
    note = f" - {quoted(span.note)}" if span.note else ""
    return f"{span.sid}: {len(span.text):,} characters, {one_line(where)}{note}"


def hits_text(found: Sequence[SearchHit], *, n: int) -> str:
    """Return the hits of a search in ``n`` held spans as text."""
    if not found:
        return f"None of {n} held spans shares a word with the query."
    return lines_of(
        f"{len(found)} of {n} held spans, best first.",
        [f"{each.sid} ({each.score:.2f}): {quoted(each.line)}" for each in found],
    )
