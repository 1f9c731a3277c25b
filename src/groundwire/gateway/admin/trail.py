"""``/v1/admin/audit``: what was found, done and changed; and whether that is what was written."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import AwareDatetime
from starlette.responses import StreamingResponse

from groundwire.control.audit.filters import Filter
from groundwire.control.audit.signing import signing_keys
from groundwire.control.audit.verify_store import verify_store
from groundwire.control.folder import data_folder
from groundwire.gateway.admin.models import MAX_LIMIT, Cursor, EventPage, WholeEvent
from groundwire.gateway.admin.models import Verdict as VerdictShape
from groundwire.gateway.admin.route import AdminRoute, control_of, errors, events_of
from groundwire.gateway.http.problems import INVALID_REQUEST, NOT_FOUND, Problem
from groundwire.gateway.native.running import json_response, to_json

PREFIX = "/v1/admin/audit"


async def _require_stored(request: Request) -> None:
    """Refuse requests if the trail is not in the store: an empty one would be misleading.

    Raises:
        Problem: If the trail is kept elsewhere.
    """
    if control_of(request).config.audit.path is not None:
        raise Problem(
            status=409,
            type=INVALID_REQUEST,
            code="trail_elsewhere",
            message="The audit trail is where audit.path leads, and not in the database, which is "
            "all that the admin plane reads of it.",
            next_step="Read it there: groundwire audit verify --file verifies a file. To have it "
            "here from now on, set audit.path to null.",
        )


router = APIRouter(
    prefix=PREFIX,
    route_class=AdminRoute,
    tags=["Audit"],
    dependencies=[Depends(_require_stored)],
)

JSON_LINES = "application/jsonl"

Tenant = Annotated[str | None, Query(description="Whose.")]
Types = Annotated[
    list[str], Query(alias="type", description="What happened; repeated: any of these.")
]
TraceId = Annotated[str | None, Query(description="In which request, as in X-Trace-ID.")]
Writer = Annotated[str | None, Query(description="In which chain.")]
Since = Annotated[AwareDatetime | None, Query(description="From this moment on.")]
Until = Annotated[AwareDatetime | None, Query(description="Before this moment.")]


def _filter(
    tenant: Tenant = None,
    types: Types = [],  # noqa: B006 - FastAPI copies it
    trace_id: TraceId = None,
    writer: Writer = None,
    since: Since = None,
    until: Until = None,
) -> Filter:
    """Read the filter of a query."""
    return Filter(
        tenant=tenant,
        types=tuple(types),
        trace_id=trace_id,
        writer=writer,
        since=since,
        until=until,
    )


Asked = Annotated[Filter, Depends(_filter)]


@router.get(
    "/events",
    summary="List events",
    operation_id="list_events",
    responses={
        **errors(400, 409),
        200: {"model": EventPage, "description": "A page of the trail."},
    },
)
async def list_events(
    request: Request,
    asked: Asked,
    order: Annotated[
        Literal["newest", "oldest"], Query(description="Which come first.")
    ] = "newest",
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Events at most.")] = 50,
) -> Response:
    """Events of the audit trail, without details. With a cursor, keep filters and order.

    What was there when the first page was read stands on one page and no other.
    """
    page = await control_of(request).trail.page(
        asked, cursor=cursor, limit=limit, newest_first=order == "newest"
    )
    # As they stand in the trail: whatever somebody has made of it can be shown.
    events = [each.to_dict() for each in page.events]
    return json_response(to_json({"events": events, "next": page.next}))


@router.get(
    "/events/{event_id}",
    summary="See an event",
    operation_id="get_event",
    responses={**errors(404, 409), 200: {"model": WholeEvent, "description": "The event."}},
)
async def get_event(
    request: Request, event_id: Annotated[str, Path(description="Its id.")]
) -> Response:
    """One event, with what was found in full, if that is kept."""
    found = await control_of(request).trail.get(event_id)
    if found is None:
        raise Problem(
            status=404,
            type=NOT_FOUND,
            code="unknown_event",
            message="There is no event of this id in the store.",
            next_step="GET /v1/admin/audit/events lists what there is.",
        )
    detail = None if found.detail is None else dict(found.detail)
    return json_response(to_json({**found.to_dict(), "detail": detail}))


@router.get(
    "/export",
    summary="Export events",
    operation_id="export_events",
    responses={
        **errors(400, 409),
        200: {
            "description": "An event a line, with its chain and its detail: what "
            "`groundwire audit verify --file` reads.",
            "content": {JSON_LINES: {"schema": {"type": "string"}}},
        },
    },
)
async def export_events(request: Request, asked: Asked) -> Response:
    """All events that are asked for, oldest first, as JSON Lines; the export itself is recorded.

    Without filters, or with a writer alone, whole chains stand one after another. If the database
    fails on the way, the connection breaks off.
    """
    control = control_of(request)
    lines = control.trail.export(asked)
    first = await anext(lines, None)  # what fails at once is an error, and no broken download
    await control.record([events_of(request).exported(filters_of(asked))])

    async def body() -> AsyncIterator[bytes]:
        if first is not None:
            yield first
        async for line in lines:
            yield line

    name = {"Content-Disposition": 'attachment; filename="audit.jsonl"'}
    return StreamingResponse(body(), media_type=JSON_LINES, headers=name)


@router.post(
    "/verify",
    summary="Verify the trail",
    operation_id="verify_trail",
    responses=errors(409),
)
async def verify_trail(request: Request) -> VerdictShape:
    """Hold the whole trail of the store against its signatures.

    It reads everything, so it takes a while where there is much, and one runs at a time. An auditor
    may ask for it. `groundwire audit verify` does the same, and takes anchors as well.
    """
    control, running = control_of(request), _running(request)
    if running.locked():
        raise Problem(
            status=409,
            type=INVALID_REQUEST,
            code="verification_running",
            message="The trail is being verified for somebody else.",
            next_step="Try again when that is done.",
        )
    async with running:
        keys = await asyncio.to_thread(signing_keys, control.config, data_folder(control.config))
        verdict = await verify_store(control.store, keys)
    return VerdictShape.model_validate(verdict)


def filters_of(asked: Filter) -> dict[str, Any]:
    """Return a filter as its event shows it: only what is asked for."""
    moments = {"since": asked.since, "until": asked.until}
    given = {
        "tenant": asked.tenant,
        "type": list(asked.types) or None,
        "trace_id": asked.trace_id,
        "writer": asked.writer,
        **{name: None if each is None else each.isoformat() for name, each in moments.items()},
    }
    return {name: value for name, value in given.items() if value is not None}


def _running(request: Request) -> asyncio.Lock:
    lock: asyncio.Lock = request.app.state.verifying
    return lock
