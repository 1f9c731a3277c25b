"""Makes the HTML page of a verification: one file, which loads no others."""

from collections import Counter
from collections.abc import Sequence

from groundwire.detection.example import Source
from groundwire.render import verification
from groundwire.render.html import page, read_part
from groundwire.verify.citations import CitationFinding
from groundwire.verify.report import VerificationReport


def report_to_html(report: VerificationReport, spans: Sequence[Source] = ()) -> str:
    """Return the HTML page of a verification, which can be read without scripts.

    ``spans`` are the evidence, which the page shows beside the claims.
    """
    outcome = verification.describe_outcome(report)
    found: Sequence[CitationFinding | None] = (
        [None] * len(report.details) if report.citations is None else report.citations.findings
    )
    verdicts = [verification.verdict_of(*each) for each in zip(report.details, found, strict=True)]
    counts = Counter(verdicts)
    citing = [
        [at for at, each in enumerate(report.details, 1) if span.id in each.claim.cites]
        for span in spans
    ]
    return page(
        "verification.html",
        script=read_part("answer.js"),
        title="not verified" if report.error else "flagged" if report.flagged else "passed",
        outcome=f"{outcome[0].upper()}{outcome[1:].rstrip('.')}.",
        counts=[f"{counts[each]:,} {each}" for each in verification.ClaimVerdict if counts[each]],
        **verification.shared_values(report),
        claims=list(zip(report.details, verdicts, found, strict=True)),
        spans=list(zip(spans, citing, strict=True)),
        places={span.id: number for number, span in enumerate(spans, 1)},
        scored=report.setup.noun.capitalize(),
        units=report.setup.settings.units,
        doubts_of=verification.doubts_of,
        STATUSES=verification.STATUSES,
    )
