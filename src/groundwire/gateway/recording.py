"""What is kept of a response: its audit events, and what is counted."""

from collections.abc import Sequence

from groundwire.gateway.audit import (
    AuditEvent,
    Disposition,
    Keeping,
    StreamSummary,
    response_events,
    stream_events,
)
from groundwire.gateway.metrics import Mode
from groundwire.gateway.refusals import blocked
from groundwire.gateway.report import StreamReport
from groundwire.gateway.services import Services
from groundwire.pipeline import Checked, RequestContext
from groundwire.policy import Action


class Recorder:
    """Keeps the records of one exchange. None of it changes what a client gets."""

    def __init__(self, services: Services, *, trace_id: str) -> None:
        """Begin.

        Args:
            services: Where records go.
            trace_id: Of the request.
        """
        self._services, self._trace_id = services, trace_id

    async def complete(
        self, context: RequestContext, answers: Sequence[Checked], *, added_s: float | None = None
    ) -> None:
        """Keep what became of a response that was not streamed.

        Args:
            context: Of its request.
            answers: All that were checked.
            added_s: Seconds that the client waited for the check, if it did.
        """
        self._count(context, answers, "complete", added_s)
        await self._write(
            response_events(
                answers,
                tenant=context.tenant,
                trace_id=self._trace_id,
                keeping=Keeping.of(self._services.config.audit),
            )
        )

    async def streamed(self, context: RequestContext, report: StreamReport) -> None:
        """Keep what became of a streamed response."""
        self._count(context, report.answers, "stream", report.added_s)
        if report.refusal is not None:
            self._services.metrics.refused(report.refusal)
        await self._write(
            stream_events(
                report.answers,
                tenant=context.tenant,
                trace_id=self._trace_id,
                keeping=Keeping.of(self._services.config.audit),
                summary=_summary(report) if report.release.withholds else None,
            )
        )

    async def event(self, event: AuditEvent) -> None:
        """Keep one event."""
        await self._write([event])

    def _count(
        self,
        context: RequestContext,
        answers: Sequence[Checked],
        mode: Mode,
        added_s: float | None,
    ) -> None:
        metrics, config = self._services.metrics, self._services.config
        metrics.checked(
            answers,
            policy_action=context.policy.action,
            mode=mode,
            detector=config.detector.name,
        )
        if added_s is not None:
            metrics.added(added_s, mode=mode)
        if mode == "complete" and any(answer.action is Action.BLOCK for answer in answers):
            metrics.refused(blocked(answers).code)

    async def _write(self, events: Sequence[AuditEvent]) -> None:
        for event in events:
            await self._services.audit.write(event)


def _summary(report: StreamReport) -> StreamSummary:
    if report.is_client_gone:
        disposition = Disposition.CANCELLED
    else:
        disposition = Disposition.REFUSED if report.refusal else Disposition.DELIVERED
    return StreamSummary(
        release=str(report.release),
        disposition=disposition,
        delivered_chars=report.n_delivered,
        withheld_chars=report.n_withheld,
        code=None if report.refusal is None else str(report.refusal),
        scan_incomplete=report.is_incomplete,
        scan_failed=report.is_failed,
        truncated=report.is_truncated,
    )
