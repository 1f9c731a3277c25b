"""``POST /v1/check``: one answer, checked as the library does."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request, Response

from groundwire.conversation import divide_transcript
from groundwire.errors import InvalidConversationError
from groundwire.example import Example, Source
from groundwire.gateway.native.examples import CHECKS
from groundwire.gateway.native.models import AnyCheck, shape_of
from groundwire.gateway.native.route import SHAPES, NativeRoute
from groundwire.gateway.native.running import answer_in_thread, pipeline_of
from groundwire.gateway.problems import INVALID_REQUEST, Problem
from groundwire.gateway.state import caller
from groundwire.limits import account_for, limit_by
from groundwire.pipeline import Pipeline
from groundwire.rows import json_kind, row_example
from groundwire.settings import is_number

router = APIRouter(route_class=NativeRoute)

#: What the name of an operating point can have; a longer one would only be repeated in an error.
_MAX_NAME_CHARS = 40
_MAX_POINT = 1_000_000


@router.post(
    "/v1/check", operation_id="check", summary="Check an answer", tags=["Checks"], responses={}
)
async def check(
    request: Request, body: Annotated[AnyCheck, Body(openapi_examples=CHECKS)]
) -> Response:
    """Mark the words of an answer that its sources do not support.

    An answer with sources gives a detection, as `groundwire check --json` prints it. A chat request
    with its response goes through all stages of the gateway (gate, evidence, decisions, detector,
    explainer, policy), and gives what became of each of its answers.
    """
    del body  # its shape is right; the library reads what was sent
    pipeline, tenant, data = pipeline_of(request), caller(request).tenant, await request.json()
    return await answer_in_thread(request, lambda: result_of(pipeline, data, tenant=tenant))


def result_of(
    pipeline: Pipeline,
    data: Mapping[str, Any],
    *,
    tenant: str,
    operating_point: str | float | None = None,
) -> dict[str, Any]:
    """Check what a body asks for; with the JSON data of the result.

    Args:
        pipeline: The stages.
        data: An answer with its sources, or a conversation.
        tenant: Whose it is.
        operating_point: What holds if the body names none.

    Raises:
        GroundwireError: If it cannot be checked.
    """
    if shape_of(data) != SHAPES[0]:
        return _check_conversation(pipeline, data, tenant)
    point = require_point(data.get("operating_point"))
    point = operating_point if point is None else point
    return _check_example(pipeline, row_example(data), tenant, point)


def require_point(value: object) -> str | float | None:
    """What can be an operating point; whether there is such a one, the detector says.

    Raises:
        Problem: If it cannot. It is not repeated, as the detector would.
    """
    match value:
        case None:
            return None
        case str() if len(value) <= _MAX_NAME_CHARS:
            return value
        case int() | float() if is_number(value) and abs(value) <= _MAX_POINT:
            return value
    raise Problem(
        status=400,
        type=INVALID_REQUEST,
        code="invalid_setting",
        message=f"operating_point is a JSON {json_kind(value)} that names no threshold.",
        next_step="Send precision, balanced, recall, or a number above 0 and at most 1.",
        param="operating_point",
    )


def _check_example(
    pipeline: Pipeline, example: Example, tenant: str, point: str | float | None
) -> dict[str, Any]:
    limits = pipeline.limits(tenant)
    limited = limit_by(
        example.sources,
        _n_chars,
        max_sources=limits.max_sources or 0,
        max_source_chars=limits.max_source_chars or 0,
    )
    detection = pipeline.detector.detect(
        sources=limited.kept,
        question=example.question,
        answer=example.answer,
        operating_point=point,
        tenant=tenant,
    )
    detection = account_for(detection, limited.reasons, dropped_chars=limited.dropped_chars)
    return detection.to_dict()


def _n_chars(source: Source) -> int:
    return len(source.text)


def _check_conversation(pipeline: Pipeline, data: object, tenant: str) -> dict[str, Any]:
    sent, answered = divide_transcript(data)
    # Which of the two a place such as messages[3] is in, only we know.
    with_parts = isinstance(data, Mapping) and "request" in data
    try:
        context = pipeline.open(sent, tenant=tenant)
    except InvalidConversationError as error:
        raise _within("request", error) if with_parts else error from error
    try:
        return pipeline.check_response(context, answered).to_dict()
    except InvalidConversationError as error:
        raise _within("response", error) if with_parts else error from error


def _within(part: str, error: InvalidConversationError) -> InvalidConversationError:
    place = part if error.place.startswith("the ") else f"{part}.{error.place}"
    return InvalidConversationError(place, error.problem, error.remedy)
