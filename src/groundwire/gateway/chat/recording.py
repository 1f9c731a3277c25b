"""Records the results of a response in audit events, metrics and traces."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any

from groundwire.control.audit.event import AuditEvent, EventType
from groundwire.control.audit.events import STREAMED, StreamSummary, response_events, summary_event
from groundwire.control.audit.quoted import MAX_NAME, Keeping, Quotes
from groundwire.gateway.http.refusals import RefusalCode, blocked, refused
from groundwire.gateway.metrics import Mode
from groundwire.gateway.services import Services
from groundwire.pipeline import Checked, RequestContext
from groundwire.policy.policy import Action

#: The value of ``source`` in audit events about answers that a client sent to be checked.
NATIVE = "native"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReport:
    """The results of a streamed response, as they are recorded.

    Attributes:
        answers: The results for the answers that were checked to their end or refused, or of which
            repaired text was sent. If text was withheld and the client left, only the results for
            answers that were released, or of which repaired text was sent.
        summary: The summary of a stream whose text was withheld; ``None`` for other streams.
        refusal: The reason why the rest of the stream was refused; ``None`` if it was not refused.
        is_upstream_error: Whether the upstream sent an error in the stream.
        is_client_gone: Whether the client left before the end; always false for a stream that was
            relayed unchanged.
        added_s: Seconds from the upstream's last bytes until recording begins; ``None`` if nothing
            waits for a check, or the client left.
    """

    answers: tuple[Checked, ...]
    summary: StreamSummary | None = None
    refusal: RefusalCode | None = None
    is_upstream_error: bool = False
    is_client_gone: bool = False
    added_s: float | None = None


class Recorder:
    """Writes the audit events and metrics of one request and its response.

    If ``audit.on_failure`` is ``refuse`` and ``audit.durability`` is ``before_response``, the end
    of a response is not sent if its audit events cannot be written.

    Attributes:
        settles: Whether the end of a response waits until its audit events are written, or until
            it is known that they cannot be written now.
    """

    def __init__(self, services: Services, *, trace_id: str, model: str = "") -> None:
        """Prepare to record one request and its response.

        Before the name of the requested model is recorded, it is redacted, and cut if it is long.
        """
        self._services, self._trace_id = services, trace_id
        self._keeping = Keeping.of(services.config.audit)
        self._named_model = model[:MAX_NAME]
        own = services.config.audit
        self._refuses = own.enabled and own.on_failure == "refuse"
        self.settles = own.enabled and own.durability == "before_response"

    @property
    def is_failing(self) -> bool:
        """Whether requests that need an audit event are refused, since none can be written now."""
        return self._refuses and self._services.audit.is_failing

    def require_writable(self) -> None:
        """Refuse a request if :attr:`is_failing` is true, and count the refusal.

        Raises:
            Problem: 503, if the request is refused.
        """
        if self.is_failing:
            self._services.metrics.refused(RefusalCode.AUDIT_UNAVAILABLE)
            raise refused(RefusalCode.AUDIT_UNAVAILABLE)

    async def complete(
        self, context: RequestContext, answers: Sequence[Checked], *, since: float | None = None
    ) -> None:
        """Record a response that was checked as a whole or not at all.

        Args:
            context: The context of the request.
            answers: The results for all answers of the response.
            since: When the client began to wait for the check, as a value of ``perf_counter``;
                ``None`` if it did not wait.

        Raises:
            Problem: 503, if the audit events cannot be written and the response must not be sent.
        """
        events = self._events(context, answers, "complete")
        may_leave = await self._keep(events, tenant=context.tenant, source="response")
        if since is not None:
            self._services.metrics.added(perf_counter() - since, mode="complete")
        if not may_leave:
            raise refused(RefusalCode.AUDIT_UNAVAILABLE)
        if any(answer.action is Action.BLOCK for answer in answers):
            self._services.metrics.refused(blocked(answers).code)

    async def native(
        self, context: RequestContext, answers: Sequence[Checked], *, row: int | None = None
    ) -> None:
        """Record answers that a client sent to be checked, for example to ``/v1/check``.

        If the request is a batch, ``row`` is the number of the answer's row in it.

        Raises:
            Problem: 503, if the audit events cannot be written and the response must not be sent.
        """
        numbered = {} if row is None else {"row": row}
        events = self._events(context, answers, "native", source=NATIVE, **numbered)
        if not await self._keep(events, tenant=context.tenant, source=NATIVE):
            raise refused(RefusalCode.AUDIT_UNAVAILABLE)

    async def streamed(self, context: RequestContext, report: StreamReport) -> bool:
        """Record a streamed response; return whether its end may be sent."""
        events = self._events(context, report.answers, "stream", **STREAMED)
        if report.summary is not None:
            summary = summary_event(report.summary, tenant=context.tenant, trace_id=self._trace_id)
            events = (*events, summary)
        began, may_leave = perf_counter(), True
        if report.is_client_gone:
            await self._services.audit.write(*events)  # no response is waiting for these events
        else:
            may_leave = await self._keep(events, tenant=context.tenant, source=STREAMED["source"])
        if report.added_s is not None:
            waited_s = perf_counter() - began if self.settles else 0.0
            self._services.metrics.added(report.added_s + waited_s, mode="stream")
        if may_leave and report.refusal is not None:
            self._services.metrics.refused(report.refusal)
        return may_leave

    async def event(self, event: AuditEvent) -> None:
        """Record one event about a request.

        Raises:
            Problem: 503, if the event cannot be written and the request must be refused.
        """
        self.require_writable()
        if not await self._keep([event], tenant=event.tenant, source="request"):
            raise refused(RefusalCode.AUDIT_UNAVAILABLE)

    def _events(
        self,
        context: RequestContext,
        answers: Sequence[Checked],
        mode: Mode,
        **origin: Any,  # noqa: ANN401 - JSON data
    ) -> tuple[AuditEvent, ...]:
        """Count the answers of a response, trace them, and return the audit events about them."""
        model = _quoted_name(self._keeping, self._named_model)
        self._services.metrics.checked(context, answers, mode=mode, model=model)
        if self._services.telemetry is not None:
            self._services.telemetry.checked(answers, detector=context.detector)
        return response_events(
            answers,
            tenant=context.tenant,
            trace_id=self._trace_id,
            keeping=self._keeping,
            model=model,
            origin=origin,
        )

    async def _keep(self, events: Sequence[AuditEvent], *, tenant: str, source: str) -> bool:
        """Give events to the audit log, and return whether the response may be sent.

        If ``settles`` is true, wait for the write. A response that may not be sent is counted, and
        an event about the response is recorded.
        """
        if not self.settles:
            await self._services.audit.write(*events)
            return True
        if not events or await self._services.audit.settle(events) or not self._refuses:
            return True
        self._services.metrics.refused(RefusalCode.AUDIT_UNAVAILABLE)
        # The events may still be written later, and say that the response was sent. This event
        # corrects them.
        withheld = AuditEvent(
            type=EventType.AUDIT_UNAVAILABLE,
            tenant=tenant,
            trace_id=self._trace_id,
            payload={
                "workspace_id": tenant,
                "source": source,
                "code": str(RefusalCode.AUDIT_UNAVAILABLE),
                "message": "The response was withheld, for its records could not be written",
            },
        )
        self._services.audit.add(withheld)
        return False


@lru_cache(maxsize=64)  # few different models are named, and looking for secrets takes time
def _quoted_name(keeping: Keeping, name: str) -> str:
    return Quotes(keeping, max_chars=0).name(name)
