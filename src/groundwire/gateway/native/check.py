"""``POST /v1/check`` checks one answer with its sources, or the answers of one conversation."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request, Response

from groundwire.detection.example import Example
from groundwire.detection.rows import json_kind, row_example
from groundwire.engine.settings import is_number
from groundwire.errors import InvalidConversationError
from groundwire.gateway.http.problems import Problem, as_problem
from groundwire.gateway.http.streamed import until_disconnect
from groundwire.gateway.middleware.state import caller, services
from groundwire.gateway.native.described import REF, described, errors, request_examples
from groundwire.gateway.native.models import AnyCheck, shape_of
from groundwire.gateway.native.recorded import Result, failed, recorded
from groundwire.gateway.native.route import JSON, SHAPES, NativeRoute
from groundwire.gateway.native.running import to_json
from groundwire.pipeline.conversation.transcript import divide_transcript

router = APIRouter(route_class=NativeRoute)

#: Limit on the characters in the name of an operating point; ``require_point`` refuses longer
#: names, because the detector's error would repeat them.
_MAX_NAME_CHARS = 40
#: The largest absolute value of an operating point that is a number; ``require_point`` refuses
#: larger values, because the detector's error would repeat them.
_MAX_POINT = 1_000_000


@router.post(
    "/v1/check",
    operation_id="check",
    summary="Check an answer",
    tags=["Checks"],
    responses={
        200: described(
            "A detection, or of a conversation what became of each answer.",
            {"anyOf": [{"$ref": f"{REF}Detection"}, {"$ref": f"{REF}CheckedResponse"}]},
        ),
        **errors(400, 422),
    },
)
async def check(
    request: Request,
    body: Annotated[AnyCheck, Body(openapi_examples=request_examples()["/v1/check"])],
) -> Response:
    """Mark the words of an answer that its sources do not support.

    For an answer with its sources, the response is a detection, as `groundwire check --json` prints
    it. The other form of a request is a conversation: a chat request with its response, or a chat
    request whose last message is the assistant's answer. A conversation goes through all stages of
    the gateway (gate, evidence, decisions, detector, explainer, policy), and the response has the
    outcome and the action for each answer.
    """
    del body  # FastAPI has checked the body; the library reads the original data
    data = await request.json()
    found = await until_disconnect(request, recorded(request, lambda: result_of(request, data)))
    return Response(found.json, media_type=JSON)


def result_of(
    request: Request,
    data: Mapping[str, Any],
    *,
    operating_point: str | float | None = None,
    name: Mapping[str, Any] | None = None,
) -> Result:
    """Check the answer or the conversation in a body, and encode the result as JSON.

    Args:
        request: The HTTP request.
        data: An answer with its sources, or a conversation.
        operating_point: The operating point for an answer if the body names none. For a
            conversation, it is ignored.
        name: Fields that precede the result in its JSON, such as the number of a row.

    Returns:
        The result. If the check of an answer with its sources fails, ``failure`` is the error.

    Raises:
        GroundwireError: If the data or the operating point is invalid, or a text is too long.
        Problem: If the operating point is refused by :func:`require_point`.
    """
    if shape_of(data) != SHAPES[0]:
        return _check_conversation(request, data, name or {})
    point = require_point(data.get("operating_point"))
    point = operating_point if point is None else point
    return _check_example(request, row_example(data), point, name or {})


def require_point(value: object) -> str | float | None:
    """Check the type and size of an operating point, and return it; ``None`` is allowed.

    The detector validates the value further.

    Raises:
        Problem: If the value has a wrong type, is too long or too large.
    """
    match value:
        case None:
            return None
        case str() if len(value) <= _MAX_NAME_CHARS:
            return value
        case int() | float() if is_number(value) and abs(value) <= _MAX_POINT:
            return value
    raise Problem.named("invalid_operating_point", kind=json_kind(value))


def _check_example(
    request: Request, example: Example, point: str | float | None, name: Mapping[str, Any]
) -> Result:
    pipeline, who = services(request).pipeline, caller(request)
    context = pipeline.open_answer(
        example.sources, question=example.question, tenant=who.tenant, overrides=who.overrides
    )
    try:
        checked = pipeline.detect(context, example.answer, operating_point=point)
    except Exception as error:
        if as_problem(error).status < 500:
            raise
        return failed(pipeline, context, error)
    assert checked.detection is not None
    written = to_json({**name, **checked.detection.to_dict()})
    return Result(context=context, answers=(checked,), json=written, outcome=str(checked.outcome))


def _check_conversation(request: Request, data: object, name: Mapping[str, Any]) -> Result:
    pipeline, who = services(request).pipeline, caller(request)
    sent, answered = divide_transcript(data)
    part = "request"
    try:
        context = pipeline.open(sent, tenant=who.tenant, overrides=who.overrides)
        part = "response"
        found = pipeline.check_response(context, answered)
    except InvalidConversationError as error:
        if not (isinstance(data, Mapping) and "request" in data):
            raise
        # The error names a place such as messages[3], but not whether the place is in the request
        # or in the response.
        place = part if error.place.startswith("the ") else f"{part}.{error.place}"
        raise InvalidConversationError(place, error.problem, error.remedy) from error
    written = to_json({**name, **found.to_dict()})
    return Result(context=context, answers=found.answers, json=written, outcome=str(found.outcome))
