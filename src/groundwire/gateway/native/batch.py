"""``POST /v1/check/batch`` checks many answers, and sends results in order as they get ready."""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Body, Request, Response

from groundwire.detection.rows import as_row, row_id
from groundwire.engine.settings import n_threads
from groundwire.gateway.http.problems import Problem, as_problem
from groundwire.gateway.http.streamed import Streamed
from groundwire.gateway.middleware.state import caller, services
from groundwire.gateway.native.check import require_point, result_of
from groundwire.gateway.native.described import errors, request_examples
from groundwire.gateway.native.models import BatchRequest, BatchResponse
from groundwire.gateway.native.recorded import Result, recorded
from groundwire.gateway.native.route import JSON, NativeRoute
from groundwire.gateway.native.running import in_thread, to_json

log = logging.getLogger(__name__)

#: Highest number of rows in a request. For more rows, clients can send several requests, or use
#: ``groundwire check --batch``.
MAX_ROWS = 10_000

router = APIRouter(route_class=NativeRoute)


@router.post(
    "/v1/check/batch",
    operation_id="check_batch",
    summary="Check many answers",
    tags=["Checks"],
    responses={
        200: {
            "model": BatchResponse,
            "description": "The results in the order of the rows, and a summary.",
        },
        **errors(400, 422),
    },
)
async def check_batch(
    request: Request,
    body: Annotated[BatchRequest, Body(openapi_examples=request_examples()["/v1/check/batch"])],
) -> Response:
    """Check many answers, side by side; results come in the order of the examples.

    A row that cannot be checked has an `error` in place of a result, and does not fail the others.
    Each result is sent as soon as it is next in order; if the client disconnects, the work stops.
    """
    await in_thread(request, lambda: _require_valid(request, body))
    headers = [("Content-Type", JSON), ("X-Accel-Buffering", "no")]
    return Streamed(_as_json(_results(request, body)), headers=headers)


def _require_valid(request: Request, batch: BatchRequest) -> None:
    if not batch.examples:
        raise Problem.named("no_rows")
    if (n_rows := len(batch.examples)) > MAX_ROWS:
        raise Problem.named("too_many_rows", n_rows=n_rows, limit=MAX_ROWS)
    if (point := require_point(batch.operating_point)) is not None:
        # An invalid operating point is refused once, not for each row.
        services(request).pipeline.detector_of(caller(request).overrides, point)


#: The outcome of a row (``None`` if the row could not be checked), and its result or error as JSON.
RowResult: TypeAlias = tuple[str | None, bytes]


async def _results(request: Request, batch: BatchRequest) -> AsyncGenerator[RowResult, None]:
    """Yield results in order; only a few rows are checked before the client reads their results."""
    # The pool for checks has twice as many threads as one batch may use, so a batch leaves half of
    # the threads to other requests.
    most = n_threads(services(request).config.detector.threads)
    waiting: deque[asyncio.Task[RowResult]] = deque()
    try:
        for number, row in enumerate(batch.examples, 1):
            if len(waiting) == most:
                yield await waiting.popleft()
            waiting.append(
                asyncio.create_task(_checked(request, batch, number, row), name="check a row")
            )
        while waiting:
            yield await waiting.popleft()
    finally:
        for task in waiting:
            task.cancel()


async def _checked(request: Request, batch: BatchRequest, number: int, row: object) -> RowResult:
    """Return the result of one row, or the error that it failed with."""
    name: dict[str, Any] = {"row": number}

    def check() -> Result:
        data = as_row(row)
        if (id_ := row_id(data)) is not None:
            name["id"] = id_
        return result_of(request, data, operating_point=batch.operating_point, name=name)

    try:
        result = await recorded(request, check, row=number)
        return result.outcome, result.json
    except Exception as error:  # noqa: BLE001 - one row must not end the others
        problem = as_problem(error)
        if problem.status >= 500:
            # The message is not logged, because it may quote the answer.
            log.warning("A row could not be checked: %s", type(error).__name__)
        brief = problem.to_dict(trace_id="")["error"]
        del brief["trace_id"]  # the header X-Trace-ID of the response has it
        return None, to_json({**name, "error": brief})


async def _as_json(results: AsyncGenerator[RowResult, None]) -> AsyncGenerator[bytes, None]:
    """Yield one JSON document in pieces, one for each result, so that it need not be in memory."""
    outcomes: Counter[str | None] = Counter()
    opening = b'{"results": ['
    async with aclosing(results):
        async for outcome, written in results:
            outcomes[outcome] += 1
            yield opening + written
            opening = b",\n"
    n_rows, n_errors = outcomes.total(), outcomes.pop(None, 0)
    counts = {str(each): n for each, n in outcomes.items()}
    summary = {"rows": n_rows, "errors": n_errors, "outcomes": counts}
    yield b'], "summary": ' + to_json(summary) + b"}\n"
