"""Runs checks of the gateway's own endpoints: with a time limit, counted and recorded."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from groundwire.gateway.chat.answer_checks import CheckTimeoutError
from groundwire.gateway.chat.recording import Recorder
from groundwire.gateway.native.running import bounded, too_slow
from groundwire.gateway.services import Services
from groundwire.pipeline import Checked, Pipeline, RequestContext
from groundwire.pipeline.conversation.response import Answer, AnswerKind
from groundwire.policy.policy import Overrides


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """The caller of a check, and the services that the check needs.

    Attributes:
        own: The services of the gateway.
        pipeline: The stages of a check.
        tenant: The caller's tenant.
        overrides: The tenant's own settings when the request came.
        trace_id: The trace id of the request.
    """

    own: Services
    pipeline: Pipeline
    tenant: str
    overrides: Overrides
    trace_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a check.

    Attributes:
        context: The context of the request.
        answers: The checked answers of the request, which are counted and recorded.
        json: The body of the response; empty if the check failed, or if the caller writes the body.
        outcome: The worst outcome of the answers; ``None`` if the check failed or there are none.
        failure: The error because of which the check failed, or ``None``.
    """

    context: RequestContext
    answers: tuple[Checked, ...]
    json: bytes = b""
    outcome: str | None = None
    failure: Exception | None = None


async def recorded(
    asked: RecordedRequest, work: Callable[[], Result], *, row: int | None = None
) -> Result:
    """Run a check in a thread, count it, and record it in the audit log.

    Args:
        asked: The caller of the check, and the services that it needs.
        work: Function that makes the check.
        row: The number of the row in a batch; ``None`` outside of batches.

    Raises:
        Problem: If the check takes too long, or if it cannot be recorded and no answer may leave
            without a record.
        Exception: Any exception of ``work``, or the ``failure`` of its result.
    """
    recorder = Recorder(asked.own, trace_id=asked.trace_id)
    recorder.require_writable()
    try:
        result = await bounded(asked.own, work)
    except CheckTimeoutError as error:
        context = asked.pipeline.open_answer(tenant=asked.tenant, overrides=asked.overrides)
        unchecked = failed(asked.pipeline, context, error)
        result = replace(unchecked, failure=too_slow(asked.own))
    await recorder.native(result.context, result.answers, row=row)
    if result.failure is not None:
        raise result.failure
    return result


def failed(pipeline: Pipeline, context: RequestContext, error: Exception) -> Result:
    """Return the result of a check that has failed, with the outcome ``unavailable``."""
    unread = Answer(index=0, kind=AnswerKind.TEXT)
    checked = pipeline.unavailable(context, unread, type(error).__name__)
    return Result(context=context, answers=(checked,), failure=error)
