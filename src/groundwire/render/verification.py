"""Makes the terminal report of a verification, with descriptions that the HTML page also uses."""

from collections import Counter
from enum import StrEnum
from typing import Any

from groundwire.config.tree import Verify
from groundwire.render.descriptions import MarkedStretch
from groundwire.render.html import render_text
from groundwire.render.terminal import mark_words
from groundwire.text.quotes import excerpt
from groundwire.text.screen import count_of, one_line
from groundwire.verify.budget import Amount
from groundwire.verify.citations import CitationFinding, CitationStatus
from groundwire.verify.report import ClaimReport, VerificationReport
from groundwire.verify.rule import ClaimStatus
from groundwire.verify.verifier import Judged, Readout

#: Highest number of claims beyond ``max_claims`` that the terminal's report lists; the report only
#: counts further claims.
MAX_UNSCORED_SHOWN = 20
_ID_CHARS = 40
_NOTHING = "-"

#: Explanation of each status of a claim.
STATUSES = {
    ClaimStatus.NO_SPANS: "there is no evidence at all",
    ClaimStatus.UNKNOWN_CITATIONS: "it cites an unknown source id",
    ClaimStatus.MISSING_CITATIONS: "it cites nothing, and has to",
    ClaimStatus.NOT_A_CLAIM: "it asserts nothing: a question or an instruction",
    ClaimStatus.EMPTY_CONTEXT: "it cites nothing, or nothing that asserts anything",
    ClaimStatus.VERIFIER_ERROR: "the verifier gave no answer: do not take this for a pass",
    ClaimStatus.CONTRADICTED: "the verifier says that its evidence says otherwise",
    ClaimStatus.AMBIGUOUS_VERIFIER: "with its evidence it may reach the target, or not",
    ClaimStatus.NOT_ENTAILED: "with its evidence it does not reach the target",
    ClaimStatus.PRIOR_LEAK: "it reaches the target without what it cites",
    ClaimStatus.INSUFFICIENT_EVIDENCE_GAIN: "its evidence adds too little",
    ClaimStatus.UNDER_BUDGET: "it needs more than its evidence brings",
    ClaimStatus.PASSED: "it reaches the target with its evidence, and not without",
}


class ClaimVerdict(StrEnum):
    """Verdict of a verification on a claim, in words for people."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NO_EVIDENCE = "no evidence"
    WRONG_SOURCE = "cites the wrong source"
    NO_CLAIM = "no claim"
    NOT_VERIFIED = "not verified"


_VERDICTS = {
    ClaimStatus.PASSED: ClaimVerdict.SUPPORTED,
    ClaimStatus.CONTRADICTED: ClaimVerdict.CONTRADICTED,
    ClaimStatus.UNKNOWN_CITATIONS: ClaimVerdict.WRONG_SOURCE,
    ClaimStatus.NOT_A_CLAIM: ClaimVerdict.NO_CLAIM,
    ClaimStatus.VERIFIER_ERROR: ClaimVerdict.NOT_VERIFIED,
}
_WRONG_SOURCE = (CitationStatus.MISATTRIBUTED, CitationStatus.FABRICATED_ID)
_GRAVE = (ClaimStatus.CONTRADICTED, ClaimStatus.VERIFIER_ERROR)


def report_to_terminal(report: VerificationReport, *, color: bool) -> str:
    """Return the report of ``groundwire verify``: claims, statuses, settings and verifier.

    Each claim is in quotes on one line, so that no claim can imitate the report. In flagged claims,
    the words that the verifier doubts are marked: by ANSI colours, or by ``⟦`` and ``⟧`` without
    ``color``.
    """
    from markupsafe import Markup

    claims = [
        (each, Markup(mark_words(one_line(each.claim.text), doubts_of(each), color=color)))
        for each in report.details
    ]
    return render_text(
        "verification.txt",
        color=color,
        **shared_values(report),
        claims=claims,
        outcome=describe_outcome(report),
        has_failed=report.error is not None or any(e.status in _GRAVE for e in report.details),
        asides=sorted(Counter(kind for kind, _ in report.setup.asides).items()),
        is_read=lambda judged: isinstance(judged, Readout),
        short=short,
        counted=count_of,
        excerpt=excerpt,
        GRAVE=_GRAVE,
        MAX_UNSCORED_SHOWN=MAX_UNSCORED_SHOWN,
    )


def shared_values(report: VerificationReport) -> dict[str, Any]:
    """Return the variables that the templates of the terminal's report and the HTML page share."""
    return {
        "report": report,
        "statuses": describe_statuses(report),
        "settings": describe_settings(report),
        "verifier": describe_verifier(report),
        "describe_citations": describe_citations,
        "probability": probability,
        "amount": amount,
    }


def describe_outcome(report: VerificationReport) -> str:
    """Describe the outcome of a verification in a phrase."""
    if report.error is not None:
        return f"not verified ({report.error_type}): {one_line(report.error)}"
    n_flagged = sum(each.flagged for each in report.details)
    parts = count_of(len(report.details), report.setup.noun.removesuffix("s"))
    if n_flagged:
        return f"flagged: {n_flagged:,} of {parts}"
    if report.truncated:
        return f"flagged: {parts} passed, and others were not verified"
    return f"passed: {parts}"


def verdict_of(detail: ClaimReport, finding: CitationFinding | None) -> ClaimVerdict:
    """Return the verdict on a claim, from its status and any finding about its citations."""
    verdict = _VERDICTS.get(detail.status, ClaimVerdict.NO_EVIDENCE)
    is_cited_wrong = finding is not None and finding.status in _WRONG_SOURCE
    may_be = (ClaimVerdict.SUPPORTED, ClaimVerdict.NO_EVIDENCE)
    return ClaimVerdict.WRONG_SOURCE if is_cited_wrong and verdict in may_be else verdict


def describe_statuses(report: VerificationReport) -> list[str]:
    """Describe each status of the flagged claims with its count, and each error; one line each."""
    counts = Counter(each.status for each in report.details if each.flagged)
    lines = [f"{status} ({n:,}): {STATUSES[status]}" for status, n in counts.items()]
    errors = dict.fromkeys(each.error for each in report.details if each.error is not None)
    return lines + [one_line(error) for error in errors]


def describe_settings(report: VerificationReport) -> str:
    """Describe the settings of a verification in one line."""
    setup = report.setup.settings
    required = ", citations required" if setup.require_citations else ""
    gain = f", gain from {setup.min_log_odds_gain:g}" if setup.min_log_odds_gain else ""
    rule = report.setup.rule
    return f"target {setup.target:g}, evidence {setup.context_mode}{required}{gain}, rule {rule}"


def describe_verifier(report: VerificationReport) -> str:
    """Describe the verifier, its calls and tokens, and the shares of claims that it passes."""
    cost = report.cost if report.citations is None else report.cost + report.citations.cost
    took = ""
    if cost.calls:
        n_tokens = round(cost.prompt_tokens + cost.completion_tokens)
        took = f", {count_of(round(cost.calls), 'call')}, {count_of(n_tokens, 'token')}"
    errs = describe_passing(report)
    return one_line(f"{report.setup.backend} {report.setup.verifier_model}") + took + errs


def describe_passing(report: VerificationReport) -> str:
    """Describe which shares of right and of wrong claims the verifier passes.

    The shares are those at the default target. The result is empty if no claim passed, or if the
    shares were not measured for this verifier.
    """
    sets = report.setup.passing.values()
    if not sets or all(each.flagged for each in report.details):
        return ""
    right, wrong = ([100 * each[kind] for each in sets] for kind in ("right", "wrong"))
    shares = [f"{_range(min(each), max(each), digits=0)} %" for each in (right, wrong)]
    target = f"at target {Verify().target:g}"
    return f"; {target} it passes {shares[0]} of right claims and {shares[1]} of wrong ones"


def describe_citations(finding: CitationFinding) -> str:
    """Describe the status of a claim's citations, with ids if they explain the status."""
    rests = ", ".join(map(short, finding.supported_by))
    others = ", ".join(short(each) for each in finding.supported_by if each not in finding.cites)
    match finding.status:
        case CitationStatus.DECORATIVE:
            return f"decorative: {', '.join(map(short, finding.decorative))} adds nothing"
        case CitationStatus.PARTIAL:
            return f"partial: {others} says the rest"
        case CitationStatus.MISATTRIBUTED:
            return f"misattributed: {rests} says it"
        case CitationStatus.FABRICATED_ID:
            said = f"; {rests} says it" if rests else ""
            return f"fabricated_id: {', '.join(map(short, finding.fabricated))}{said}"
        case CitationStatus.UNCITED:
            return f"uncited; {rests} says it" if rests else "uncited"
    return str(finding.status)


def doubts_of(detail: ClaimReport) -> tuple[MarkedStretch, ...]:
    """Return the words of a flagged claim that the verifier doubts; empty for other claims."""
    posterior = detail.posterior
    return posterior.doubts if detail.flagged and isinstance(posterior, Readout) else ()


def probability(judged: Judged | None) -> str:
    """Format the probability that a verifier gives a claim, as a number or range; ``-`` if none."""
    if not isinstance(judged, Readout):
        return _NOTHING
    return _range(judged.yes.low, judged.yes.high, digits=3)


def amount(value: Amount | None) -> str:
    """Format an amount of information as a number or a range; ``-`` if there is none."""
    return _NOTHING if value is None else _range(value.min, value.max, digits=1)


def short(name: str) -> str:
    """Shorten an id to one line of at most 40 characters, without counting ``…``."""
    return excerpt(one_line(name), around="", width=_ID_CHARS)


def _range(low: float, high: float, *, digits: int) -> str:
    ends = [f"{low:.{digits}f}", f"{high:.{digits}f}"]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
