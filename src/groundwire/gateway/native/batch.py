"""``POST /v1/check/batch`` checks many answers, and sends results in order as they get ready."""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeAlias

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from groundwire.detection.rows import RowError, as_row, parse_row, row_id
from groundwire.engine.reader import n_threads
from groundwire.gateway.http.problems import Problem, as_problem
from groundwire.gateway.http.streamed import Streamed
from groundwire.gateway.middleware.limits import parse_json
from groundwire.gateway.native.check import asked_by, require_point, result_of
from groundwire.gateway.native.described import errors, request_examples
from groundwire.gateway.native.models import BatchRequest, BatchResponse
from groundwire.gateway.native.recorded import RecordedRequest, Result, recorded
from groundwire.gateway.native.route import JSON, require_content_type
from groundwire.gateway.native.running import in_thread, to_json

log = logging.getLogger(__name__)

#: The most rows of one request. More rows need several requests, or ``groundwire check --batch``.
MAX_ROWS = 10_000
#: Content types that clients use for JSON Lines.
JSON_LINES = ("application/x-ndjson", "application/jsonl", "application/json-lines")

#: A row with its number, not parsed yet: a line of JSON Lines as bytes, or data of a JSON document.
RawRow: TypeAlias = tuple[int, bytes | object]

router = APIRouter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The rows of one request, not parsed yet.

    Attributes:
        rows: The rows with their numbers, from 1. Blank lines are left out, but they are
            counted.
        operating_point: The operating point of rows that name none.
    """

    rows: Sequence[RawRow]
    operating_point: str | float | None = None


def _lines(what: str) -> dict[str, Any]:
    return {"schema": {"type": "string", "description": f"A JSON object a line, {what}."}}


@router.post(
    "/v1/check/batch",
    operation_id="check_batch",
    summary="Check many answers",
    tags=["Checks"],
    responses={
        200: {
            "model": BatchResponse,
            "description": "The results in the order of the rows: JSON Lines if Accept says so, or "
            "if that is what was sent and Accept does not ask for JSON.",
            "content": {JSON_LINES[0]: _lines("as `BatchRow`")},
        },
        **errors(400, 422),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": f"At most {MAX_ROWS:,} rows.",
            "content": {
                JSON: {
                    "schema": BatchRequest.model_json_schema(),
                    "examples": request_examples()["/v1/check/batch"],
                },
                JSON_LINES[0]: _lines("of examples"),
            },
        }
    },
)
async def check_batch(request: Request) -> Response:
    """Check many answers, side by side; results come in the order of the examples.

    A row that cannot be checked has an `error` in place of a result, and does not fail the others.
    Each result is sent as soon as it is next in order; if the client disconnects, the work stops.
    """
    kind = require_content_type(request, (JSON, *JSON_LINES))
    asked, body = asked_by(request), await request.body()
    batch = await in_thread(request, lambda: _read(body, kind, asked))
    answer = accepted(request.headers.get("accept", ""), default=kind)
    results = _results(asked, batch)
    written = _as_json(results) if answer == JSON else _as_lines(results)
    headers = [("Content-Type", answer), ("X-Accel-Buffering", "no")]
    return Streamed(written, headers=headers)


def _read(body: bytes, kind: str, asked: RecordedRequest) -> Batch:
    rows: Sequence[RawRow]
    if kind == JSON:
        read = _of_json(body)
        rows, point = list(enumerate(read.examples, 1)), read.operating_point
    else:
        # Not splitlines(): a line of JSON Lines ends with "\n" alone.
        lines = enumerate(body.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1)
        rows, point = [(n, line) for n, line in lines if line.strip()], None
    if not rows:
        raise Problem(
            400,
            "no_rows",
            message="There are no rows to check.",
            next_step='Send {"examples": [...]}, or a JSON object a line.',
        )
    if len(rows) > MAX_ROWS:
        raise Problem(
            413,
            "too_many_rows",
            message=f"There are {len(rows):,} rows, and a request may have {MAX_ROWS:,}.",
            next_step="Send them in several requests, or use groundwire check --batch.",
        )
    if (point := require_point(point)) is not None:
        # An invalid operating point is refused here, once for the request and not for each row.
        asked.pipeline.detector_of(asked.overrides, point)
    return Batch(rows=rows, operating_point=point)


def _of_json(body: bytes) -> BatchRequest:
    try:
        return BatchRequest.model_validate(parse_json(body))
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        raise RequestValidationError(
            [{**each, "loc": ("body", *each["loc"])} for each in found]
        ) from None


def accepted(accept: str, *, default: str) -> str:
    """Return the content type of the response: the first known one in Accept, else a default.

    Args:
        accept: The header Accept.
        default: The content type of the request.
    """
    kinds = (each.partition(";")[0].strip().lower() for each in accept.split(","))
    return next((each for each in kinds if each in (JSON, *JSON_LINES)), default)


# Checks of the rows.


@dataclass(frozen=True, slots=True)
class RowResult:
    """The result of one row.

    Attributes:
        outcome: The outcome of the check; ``None`` if the row could not be checked.
        json: The result, or the error, as JSON.
    """

    outcome: str | None
    json: bytes


async def _results(asked: RecordedRequest, batch: Batch) -> AsyncGenerator[RowResult, None]:
    """Yield results in order; rows are checked only as fast as the client reads them."""
    # Use half of the threads, so that clients who check a single answer need not wait.
    most = n_threads(asked.own.config.detector.threads)
    waiting: deque[asyncio.Task[RowResult]] = deque()
    try:
        for row in batch.rows:
            if len(waiting) == most:
                yield await waiting.popleft()
            waiting.append(asyncio.create_task(_checked(asked, batch, row), name="check a row"))
        while waiting:
            yield await waiting.popleft()
    finally:
        for task in waiting:
            task.cancel()


async def _checked(asked: RecordedRequest, batch: Batch, row: RawRow) -> RowResult:
    """Return the result of one row, or the error because of which it could not be checked."""
    number, raw = row
    name: dict[str, Any] = {"row": number}

    def check() -> Result:
        data = _parse(raw)
        if (id_ := row_id(data)) is not None:
            name["id"] = id_
        return result_of(asked, data, operating_point=batch.operating_point, name=name)

    try:
        result = await recorded(asked, check, row=number)
        return RowResult(result.outcome, result.json)
    except Exception as error:  # noqa: BLE001 - one row must not end the others
        problem = as_problem(error)
        if problem.status >= 500:
            # The message may quote the answer, which has no place in a log.
            log.warning("A row could not be checked: %s", type(error).__name__)
        brief = problem.to_dict(trace_id="")["error"]
        del brief["trace_id"]  # a header of the response has it
        return RowResult(None, to_json({**name, "error": brief}))


def _parse(raw: bytes | object) -> Mapping[str, Any]:
    if not isinstance(raw, bytes):
        return as_row(raw)
    try:
        return parse_row(raw.decode())
    except UnicodeDecodeError as error:
        raise RowError(f"The row is not UTF-8, at byte {error.start:,}.") from error


# Encoding of the results.


async def _as_lines(results: AsyncGenerator[RowResult, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(results):
        async for row in results:
            yield row.json + b"\n"


async def _as_json(results: AsyncGenerator[RowResult, None]) -> AsyncGenerator[bytes, None]:
    """Yield the results as one JSON document, piece by piece: it is never in memory as a whole."""
    outcomes: Counter[str | None] = Counter()
    opening = b'{"results": ['
    async with aclosing(results):
        async for row in results:
            outcomes[row.outcome] += 1
            yield opening + row.json
            opening = b",\n"
    n_rows, n_errors = outcomes.total(), outcomes.pop(None, 0)
    counts = {str(outcome): n for outcome, n in outcomes.items()}
    summary = {"rows": n_rows, "errors": n_errors, "outcomes": counts}
    yield b'], "summary": ' + to_json(summary) + b"}\n"
