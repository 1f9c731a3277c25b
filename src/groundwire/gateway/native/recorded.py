"""Checks of the gateway's own endpoints: bounded in time, counted and on record like all others."""

from collections.abc import Callable
from dataclasses import dataclass

from groundwire.gateway.chat.answer_checks import CheckTimeoutError
from groundwire.gateway.chat.recording import Recorder
from groundwire.gateway.http.refusals import RefusalCode, refused
from groundwire.gateway.native.running import bounded, too_slow
from groundwire.gateway.services import Services
from groundwire.pipeline import Checked, Pipeline, RequestContext
from groundwire.pipeline.conversation import Answer, AnswerKind
from groundwire.policy.policy import Overrides


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """The caller of a check, and what it is checked by.

    Attributes:
        own: The services of the gateway.
        pipeline: The stages.
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
        context: The context of its request.
        answers: The results for its answers, as they are recorded.
        json: The body of the response; empty if the check failed.
        outcome: The worst outcome of its answers.
        failure: The error that kept it from being checked.
    """

    context: RequestContext
    answers: tuple[Checked, ...]
    json: bytes = b""
    outcome: str | None = None
    failure: Exception | None = None


async def recorded(
    asked: RecordedRequest, work: Callable[[], Result], *, row: int | None = None
) -> Result:
    """Check something in a thread, and keep its records.

    Args:
        asked: The caller.
        work: Checks it.
        row: Its number in a batch.

    Raises:
        Problem: If it takes too long, or what has no record must not leave.
        Exception: What ``work`` raises, for it cannot be checked as it is, or its failure.
    """
    recorder = Recorder(asked.own, trace_id=asked.trace_id)
    if not recorder.may_begin():
        raise refused(RefusalCode.AUDIT_UNAVAILABLE)
    try:
        result = await bounded(asked.own, work)
    except CheckTimeoutError as error:
        context = asked.pipeline.open_answer(tenant=asked.tenant, overrides=asked.overrides)
        result = failed(asked.pipeline, context, error, told=too_slow(asked.own))
    if not await recorder.native(result.context, result.answers, row=row):
        raise refused(RefusalCode.AUDIT_UNAVAILABLE)
    if result.failure is not None:
        raise result.failure
    return result


def failed(
    pipeline: Pipeline,
    context: RequestContext,
    error: Exception,
    *,
    told: Exception | None = None,
) -> Result:
    """A check that was due and failed.

    Args:
        pipeline: The stages.
        context: The context of the request.
        error: The reason.
        told: The error for the client in its place.
    """
    unread = Answer(index=0, kind=AnswerKind.TEXT)
    checked = pipeline.unavailable(context, unread, type(error).__name__)
    return Result(context=context, answers=(checked,), failure=told or error)
