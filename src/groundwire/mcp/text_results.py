"""Results in a few lines: what an agent reads first, and people who look over its shoulder.

What is quoted was written by models and strangers: on one line, cut, and unable to act on a screen.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from groundwire.detection.values import Detection
from groundwire.mcp.store import HeldSpan
from groundwire.render import describe_coverage, describe_reasons, explain_outcome
from groundwire.render.descriptions import unchecked
from groundwire.text.screen import one_line
from groundwire.verify.citations import CitationFinding
from groundwire.verify.report import ClaimReport, VerificationReport

if TYPE_CHECKING:  # they come with the models, which the first call loads
    from groundwire.explain import Explained
    from groundwire.mcp.search import SearchHit

MAX_LINES = 40
_MAX_QUOTE_CHARS = 160


def quoted(text: str) -> str:
    """A text that fits into a line."""
    line = one_line(text)
    return line if len(line) <= _MAX_QUOTE_CHARS else f"{line[: _MAX_QUOTE_CHARS - 1]}…"


def lines_of(head: str, lines: Sequence[str]) -> str:
    """A text of some lines; those beyond :data:`MAX_LINES` are counted."""
    shown = list(lines[:MAX_LINES])
    if len(lines) > len(shown):
        shown.append(f"... and {len(lines) - len(shown)} more, in the structured result.")
    return "\n".join([head, *shown])


def tell_report(report: VerificationReport) -> str:
    """A verification: what is flagged, and each claim with its status."""
    if report.error is not None:
        return f"FLAGGED: nothing was verified ({report.error_type}). {one_line(report.error)}"
    if not (report.details or report.flagged):
        return "Nothing was verified, for there is nothing to verify: no steps."
    n_flagged = sum(each.flagged for each in report.details)
    noun = "steps" if report.setup.words.scored.startswith("steps") else "claims"
    head = f"{n_flagged} of {len(report.details)} {noun} are flagged"
    if report.truncated:
        n = len(report.unscored)
        head += f"; {n or 'some'} more were not verified, beyond max_claims"
    by = ", ".join(filter(None, (report.setup.backend, one_line(report.setup.verifier_model))))
    head = f"{'FLAGGED' if report.flagged else 'Passed'}: {head}. Verifier: {by}."
    return lines_of(head, [_tell_claim(each) for each in report.details])


def _tell_claim(detail: ClaimReport) -> str:
    claim = detail.claim
    cites = f" [{', '.join(map(one_line, claim.cites))}]" if claim.cites else ""
    line = f"{claim.idx}. {detail.status}: {quoted(claim.text)}{cites}"
    if claim.unknown:
        line += f" - names no span: {quoted(', '.join(claim.unknown))}"
    if detail.measures.gap is not None:
        gap = detail.measures.gap
        line += f" - budget gap {gap.min:.1f} to {gap.max:.1f} {detail.units}"
    if detail.error is not None:
        line += f" - {quoted(detail.error)}"
    return line


def tell_origins(origins: Mapping[str, str]) -> str:
    r"""A further line: where the evidence comes from; what came with the call is its own word.

    >>> tell_origins({"S0": "held_file", "mine": "caller"})
    '\nEvidence: held_file (S0), caller (mine).'
    """
    ids: dict[str, list[str]] = {}
    for sid, origin in origins.items():
        ids.setdefault(origin, []).append(sid)
    told = [f"{origin} ({quoted(', '.join(sids))})" for origin, sids in ids.items()]
    return f"\nEvidence: {', '.join(told)}." if told else ""


def tell_citations(findings: Sequence[CitationFinding], *, n_flagged: int, n_unread: int) -> str:
    """What is wrong with citations, a claim a line."""
    head = f"The citations of {n_flagged} of {len(findings)} claims are not sound"
    if n_unread:
        head += f"; {n_unread} more were not checked, beyond max_claims"
    is_flagged = bool(n_flagged or n_unread or not findings)
    return lines_of(
        f"{'FLAGGED' if is_flagged else 'Passed'}: {head}.", [_tell_finding(f) for f in findings]
    )


def _tell_finding(found: CitationFinding) -> str:
    facts = {
        "cites": found.cites,
        "names no span": found.fabricated,
        "rests on": found.supported_by,
        "adds nothing": found.decorative,
        "not supported": tuple(doubt.text for doubt in found.unsupported),
        "error": (found.error,) if found.error else (),
    }
    told = [f"{name}: {quoted(', '.join(each))}" for name, each in facts.items() if each]
    return " - ".join([f"{found.idx}. {found.status}: {quoted(found.claim)}", *told])


def tell_answer(explained: "Explained") -> str:
    """A check: the outcome, and each marked stretch with why."""
    detection = explained.detection
    head = f"{detection.outcome}: {explain_outcome(detection)}."
    marked = [
        f'{span.label}: "{quoted(span.text)}" - {quoted(why.text)}'
        for span, why in zip(detection.spans, explained.explanations, strict=True)
    ]
    return lines_of(head, [*marked, *_tell_unread(detection)])


def _tell_unread(detection: Detection) -> Iterable[str]:
    for claim in unchecked(detection):
        yield f'not read ({claim.reason}): "{quoted(claim.text)}"'
    if not detection.coverage.is_complete:
        yield f"coverage: {describe_coverage(detection.coverage)}"
        yield from describe_reasons(detection.coverage)


def tell_span(span: HeldSpan) -> str:
    """One held span, without its text."""
    place = span.place
    where = f"{place.path}:{place.start_line}-{place.end_line}" if place else "added as a text"
    note = f" - {quoted(span.note)}" if span.note else ""
    return f"{span.sid}: {len(span.text):,} characters, {one_line(where)}{note}"


def tell_found(found: "Sequence[SearchHit]", spans: Mapping[str, HeldSpan]) -> str:
    """What a search found."""
    if not found:
        return f"None of {len(spans)} held spans shares a word with the query."
    return lines_of(
        f"{len(found)} of {len(spans)} held spans, best first.",
        [f"{each.sid} ({each.score:.2f}): {quoted(each.line)}" for each in found],
    )
