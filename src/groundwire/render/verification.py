"""Terminal report of a verification of cited claims, and descriptions for all views."""

from collections import Counter
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from groundwire.render.descriptions import MarkedStretch
from groundwire.render.terminal import DIM, mark_words, painter
from groundwire.text.quotes import excerpt
from groundwire.text.screen import one_line
from groundwire.verify.budget import Amount
from groundwire.verify.citations import CitationFinding, CitationStatus
from groundwire.verify.report import ClaimReport, VerificationReport
from groundwire.verify.rule import ClaimStatus
from groundwire.verify.verifier import Judged, Readout

if TYPE_CHECKING:
    from rich.text import Text

#: Default width of the screen.
WIDTH = 100
#: Most unverified claims that are listed; the others are counted.
MAX_UNSCORED_SHOWN = 20
_ID_CHARS = 40
_NOTHING = "-"

#: Columns of the table that hold words; the others hold numbers.
_WORDS = _CLAIM, _CITES, _STATUS = 1, 2, 3
#: Characters of a claim at least, and of its citations at most; a claim has what the others leave.
_CLAIM_CHARS, _CITES_CHARS = 12, 12
#: Characters of a status: as wide as most of them, and where there is room as wide as all.
_STATUS_CHARS, _WIDE_STATUS_CHARS = 17, 26
#: On a narrower screen lines are broken: a column left out would say less.
_LEAST_WIDTH = 90

#: Explanation of each status.
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
_GRAVE = (ClaimStatus.CONTRADICTED, ClaimStatus.VERIFIER_ERROR)


def report_to_terminal(report: VerificationReport, *, color: bool, width: int = WIDTH) -> str:
    """Write the report of ``groundwire verify``: claims, statuses, settings and verifier.

    A claim stands in a cell of its own, so that none can imitate the report.

    Args:
        report: The verification.
        color: Highlight with ANSI colours; otherwise doubtful words stand in markers.
        width: Columns of the screen.
    """
    paint = painter(color=color)
    lines = [] if not report.details else [*_table(report, color=color, width=width), ""]
    style = "1;32" if not report.flagged else "1;31" if _failed(report) else "1;33"
    lines.append(f"outcome   {paint(describe_outcome(report), style)}")
    lines += [f"          {each}" for each in describe_statuses(report)]
    lines += _unscored(report)
    lines.append(paint(f"settings  {describe_settings(report)}", DIM))
    lines.append(paint(f"verifier  {describe_verifier(report)}", DIM))
    return "\n".join(lines)


def describe_outcome(report: VerificationReport) -> str:
    """Describe the outcome in half a sentence."""
    if report.error is not None:
        return f"not verified ({report.error_type}): {one_line(report.error)}"
    n_flagged = sum(each.flagged for each in report.details)
    parts = _counted(len(report.details), _part(report))
    if n_flagged:
        return f"flagged: {n_flagged:,} of {parts}"
    if report.truncated:
        return f"flagged: {parts} passed, and others were not verified"
    return f"passed: {parts}"


def describe_statuses(report: VerificationReport) -> list[str]:
    """Describe each status that flags claims, with its count."""
    counts = Counter(each.status for each in report.details if each.flagged)
    lines = [f"{status} ({n:,}): {STATUSES[status]}" for status, n in counts.items()]
    errors = dict.fromkeys(each.error for each in report.details if each.error is not None)
    return lines + [one_line(error) for error in errors]


def describe_settings(report: VerificationReport) -> str:
    """Describe the settings of a verification."""
    setup = report.setup.settings
    required = ", citations required" if setup.require_citations else ""
    gain = f", gain from {setup.min_log_odds_gain:g}" if setup.min_log_odds_gain else ""
    rule = report.setup.rule
    return f"target {setup.target:g}, evidence {setup.context_mode}{required}{gain}, rule {rule}"


def describe_verifier(report: VerificationReport) -> str:
    """Describe the verifier and the calls that it made."""
    cost = report.cost if report.citations is None else report.cost + report.citations.cost
    took = ""
    if cost.calls:
        n_tokens = round(cost.prompt_tokens + cost.completion_tokens)
        took = f", {_counted(round(cost.calls), 'call')}, {_counted(n_tokens, 'token')}"
    return one_line(f"{report.setup.backend} {report.setup.verifier_model}") + took


def describe_citations(finding: CitationFinding) -> str:
    """Describe what is wrong with the citations of a claim."""
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
    """Give the unsupported words of a flagged claim, if the verifier marks words."""
    posterior = detail.posterior
    return posterior.doubts if detail.flagged and isinstance(posterior, Readout) else ()


def probability(judged: Judged | None) -> str:
    """Format P(yes): a number, a range, or ``-``."""
    if not isinstance(judged, Readout):
        return _NOTHING
    return _range(judged.yes.low, judged.yes.high, digits=3)


def amount(value: Amount | None) -> str:
    """Format an amount of information."""
    return _NOTHING if value is None else _range(value.min, value.max, digits=1)


def short(name: str) -> str:
    """Shorten an id to one line."""
    return excerpt(one_line(name), around="", width=_ID_CHARS)


def _range(low: float, high: float, *, digits: int) -> str:
    ends = [f"{low:.{digits}f}", f"{high:.{digits}f}"]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _part(report: VerificationReport) -> str:
    return report.setup.noun.removesuffix("s")


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _failed(report: VerificationReport) -> bool:
    return report.error is not None or any(each.status in _GRAVE for each in report.details)


def _unscored(report: VerificationReport) -> Iterator[str]:
    if not report.truncated:
        return
    n = len(report.unscored)
    which = f"{_counted(n, 'claim')} beyond" if n else "claims beyond"
    yield f"unscored  {which} max_claims ({report.setup.settings.max_claims:,}): raise it"
    for claim in report.unscored[:MAX_UNSCORED_SHOWN]:
        yield f'          {claim.idx}  "{one_line(excerpt(claim.text, around=""))}"'
    if n > MAX_UNSCORED_SHOWN:
        yield f"          and {n - MAX_UNSCORED_SHOWN:,} more"


def _table(report: VerificationReport, *, color: bool, width: int) -> Iterator[str]:
    from rich.console import Console  # a tenth of a second, which nobody else has to wait
    from rich.table import Table
    from rich.text import Text

    status_chars = _WIDE_STATUS_CHARS if width >= WIDTH else _STATUS_CHARS
    table = Table(box=None, padding=(0, 2, 1, 0), pad_edge=False, header_style="none", expand=True)
    for at, head in enumerate(_heads(report)):
        table.add_column(
            Text(head, style="bold"),
            justify="left" if at in _WORDS else "right",
            overflow="fold",
            ratio=1 if at == _CLAIM else None,
            min_width=_CLAIM_CHARS if at == _CLAIM else None,
            max_width={_CITES: _CITES_CHARS, _STATUS: status_chars}.get(at),
        )
    for cells in _rows(report, color=color):
        table.add_row(*cells)
    file = StringIO()
    console = Console(
        file=file,
        width=max(width, _LEAST_WIDTH),
        color_system="standard" if color else None,
        force_terminal=color,
        force_jupyter=False,
        no_color=not color,
        legacy_windows=False,
    )
    console.print(table)
    yield from (line.rstrip() for line in file.getvalue().rstrip().split("\n"))


def _heads(report: VerificationReport) -> tuple[str, ...]:
    units = report.setup.settings.units
    status = "status" if report.citations is None else "status, citations"
    amounts = (f"{units}\nneeded", f"{units}\nfound")
    return ("no.", _part(report), "cites", status, "P\nwith", "P\nwithout", *amounts)


def _rows(report: VerificationReport, *, color: bool) -> Iterator[Sequence["Text"]]:
    from rich.text import Text

    findings = () if report.citations is None else report.citations.findings
    for at, detail in enumerate(report.details):
        words = mark_words(one_line(detail.claim.text), doubts_of(detail), color=color)
        cites = [*map(short, detail.claim.cites), *(f"{short(e)}?" for e in detail.claim.unknown)]
        style = "red" if detail.status in _GRAVE else "yellow" if detail.flagged else "green"
        status = Text.assemble((str(detail.status), f"bold {style}"))
        if findings:
            status.append(f"\n{describe_citations(findings[at])}")
        cells = [
            Text(str(detail.claim.idx)),
            Text.from_ansi(words) if color else Text(words),
            Text(", ".join(cites) or _NOTHING),
            status,
            *map(Text, (probability(detail.posterior), probability(detail.prior))),
            *map(Text, (amount(detail.measures.required), amount(detail.measures.observed))),
        ]
        yield cells
