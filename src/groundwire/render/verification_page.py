"""A verification of cited claims as one HTML page that stands alone."""

from collections.abc import Sequence

from groundwire.detection.example import Source
from groundwire.render.descriptions import pieces
from groundwire.render.html import page
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
from groundwire.verify.report import VerificationReport


def report_to_html(report: VerificationReport, spans: Sequence[Source] = ()) -> str:
    """Write one page that stands alone: no scripts, nothing loaded, light and dark.

    Args:
        report: The verification.
        spans: The evidence; claims then lead to what they cite.
    """
    outcome = describe_outcome(report)
    return page(
        "verification.html",
        title="not verified" if report.error else "flagged" if report.flagged else "passed",
        outcome=f"{outcome[0].upper()}{outcome[1:].rstrip('.')}.",
        statuses=describe_statuses(report),
        report=report,
        spans=spans,
        places={span.id: number for number, span in enumerate(spans, 1)},
        scored=report.setup.noun.capitalize(),
        units=report.setup.settings.units,
        settings=describe_settings(report),
        verifier=describe_verifier(report),
        pieces=pieces,
        doubts_of=doubts_of,
        describe_citations=describe_citations,
        probability=probability,
        amount=amount,
    )
