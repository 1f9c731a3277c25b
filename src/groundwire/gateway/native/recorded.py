"""Runs checks of answers with a time limit, and counts and records them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from fastapi import Request

from groundwire.gateway.chat.answer_checks import CheckTimeoutError
from groundwire.gateway.chat.recording import Recorder
from groundwire.gateway.middleware.state import caller, services, trace_id
from groundwire.gateway.native.running import bounded, too_slow
from groundwire.pipeline import Checked, Pipeline, RequestContext
from groundwire.pipeline.conversation.response import Answer, AnswerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a check.

    Attributes:
        context: The pipeline's data about the request, such as the sources and the policy.
        answers: The checked answers, which are counted and recorded.
        json: The result as JSON; empty if the check failed, or if the caller writes the body of the
            response.
        outcome: The worst outcome of the answers; ``None`` if the check failed. Without answers, it
            is ``skipped`` or ``None``.
        failure: The error that the check failed with, if any.
    """

    context: RequestContext
    answers: tuple[Checked, ...]
    json: bytes = b""
    outcome: str | None = None
    failure: Exception | None = None


async def recorded(
    request: Request, work: Callable[[], Result], *, row: int | None = None
) -> Result:
    """Run a check in a thread, count it, and record it in the audit log.

    Args:
        request: The HTTP request.
        work: Function that makes the check.
        row: The number of the row in a batch; ``None`` outside of batches.

    Raises:
        Problem: If the check takes too long, or if its record is required but cannot be written.
        Exception: Any exception of ``work``, in which case nothing is recorded; or the
            ``failure`` of its result.
    """
    own, who = services(request), caller(request)
    recorder = Recorder(own, trace_id=trace_id(request))
    recorder.require_writable()
    try:
        result = await bounded(own, work)
    except CheckTimeoutError as error:
        context = own.pipeline.open_answer(tenant=who.tenant, overrides=who.overrides)
        result = replace(failed(own.pipeline, context, error), failure=too_slow(own))
    await recorder.native(result.context, result.answers, row=row)
    if result.failure is not None:
        raise result.failure
    return result


def failed(pipeline: Pipeline, context: RequestContext, error: Exception) -> Result:
    """Return the result of a check that has failed; its answer has the outcome ``unavailable``."""
    unread = Answer(index=0, kind=AnswerKind.TEXT)
    checked = pipeline.unavailable(context, unread, type(error).__name__)
    return Result(context=context, answers=(checked,), failure=error)
