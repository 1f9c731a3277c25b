"""``/v1/admin/audit``: lists, exports and verifies the events of the audit trail."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Depends, Path, Query, Request, Response
from pydantic import AwareDatetime, StringConstraints
from starlette.responses import StreamingResponse

from groundwire.control.audit.event import AuditEvent, EventType
from groundwire.control.audit.signing import signing_keys
from groundwire.control.audit.trail import Filter
from groundwire.control.audit.verify_store import verify_store
from groundwire.control.store.moments import now
from groundwire.gateway.admin.models import EventPage, Verdict, WholeEvent
from groundwire.gateway.admin.route import Control, Events, Limit, admin_router, control_of, errors
from groundwire.gateway.control import ControlPlane
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.native.running import answered


async def require_stored(request: Request) -> None:
    """Refuse a request if the trail is in a file, because these endpoints read only the database.

    Raises:
        Problem: If ``audit.path`` is set.
    """
    if control_of(request).config.audit.path is not None:
        raise Problem.named("trail_elsewhere")


router = admin_router("Audit", prefix="/v1/admin/audit", dependencies=[Depends(require_stored)])

JSON_LINES = "application/jsonl"

#: A name to filter events by. Characters up to U+001F are refused, since PostgreSQL refuses NUL.
_Name = Annotated[str, StringConstraints(max_length=128, pattern=r"^[^\x00-\x1f]*$")]

Tenant = Annotated[_Name | None, Query(description="Only events of this tenant.")]
Types = Annotated[
    list[EventType], Query(alias="type", description="What happened; repeated: any of these.")
]
TraceId = Annotated[_Name | None, Query(description="The request, as in X-Trace-ID.")]
Writer = Annotated[_Name | None, Query(description="The chain.")]
Since = Annotated[AwareDatetime | None, Query(description="From this moment on.")]
Until = Annotated[AwareDatetime | None, Query(description="Before this moment.")]


async def _filter(
    tenant: Tenant = None,
    types: Types = [],  # noqa: B006 - FastAPI copies the default
    trace_id: TraceId = None,
    writer: Writer = None,
    since: Since = None,
    until: Until = None,
) -> Filter:
    """Make a filter of events from the query parameters of a request."""
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
    responses={
        **errors(400, 409),
        200: {"model": EventPage, "description": "A page of the trail."},
    },
)
async def list_events(
    control: Control,
    asked: Asked,
    order: Annotated[
        Literal["newest", "oldest"], Query(description="Which come first.")
    ] = "newest",
    cursor: Annotated[
        str | None, Query(description="`next` of the page before; without it, the first page.")
    ] = None,
    limit: Limit = 50,
) -> Response:
    """Events of the audit trail, without details. Send a cursor with the same filters and order.

    Each event that was stored when the first page was read is on exactly one page.
    """
    page = await control.trail.page(
        asked, cursor=cursor, limit=limit, newest_first=order == "newest"
    )
    # No model validates the events, so that even records that are no valid events can be shown.
    return answered({"events": [each.to_dict() for each in page.events], "next": page.next})


@router.get(
    "/events/{event_id}",
    summary="See an event",
    responses={**errors(404, 409), 200: {"model": WholeEvent, "description": "The event."}},
)
async def get_event(
    control: Control, event_id: Annotated[str, Path(description="The id of the event.")]
) -> Response:
    """An event, with all findings if these are stored."""
    found = await control.trail.get(event_id)
    if found is None:
        raise Problem.named("unknown_event")
    detail = None if found.detail is None else dict(found.detail)
    return answered({**found.to_dict(), "detail": detail})


@router.get(
    "/export",
    summary="Export events",
    responses={
        **errors(400, 409),
        200: {
            "description": "An event a line, with its chain and its detail: what "
            "`groundwire audit verify --file` reads.",
            "content": {JSON_LINES: {"schema": {"type": "string"}}},
        },
    },
)
async def export_events(control: Control, events: Events, asked: Asked) -> Response:
    """All events that match the filters, as JSON Lines; the export is recorded.

    The oldest event comes first; without filters, or with only a writer, the events come chain by
    chain. If the database fails during the export, the connection breaks off.
    """
    event = events.exported(filters_of(asked))
    return await download(control, control.trail.export(asked), event, name="audit.jsonl")


async def download(
    control: ControlPlane, lines: AsyncIterator[bytes], event: AuditEvent, *, name: str
) -> Response:
    """Record the audit event of an export, and return the response that sends lines as a file."""
    # The first line is read before the response begins, so that a database that fails at once leads
    # to an error, not to a broken download.
    first = await anext(lines, None)
    await control.record([event])

    async def body() -> AsyncIterator[bytes]:
        if first is not None:
            yield first
        async for line in lines:
            yield line

    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(body(), media_type=JSON_LINES, headers=headers)


@dataclass(slots=True, kw_only=True)
class Verifying:
    """The state of verifications of the trail; a process runs only one of them at a time.

    Attributes:
        running: The lock that a verification holds while it runs.
        last: When the last verification with a result ended, and this result; ``None`` before
            the first result.
    """

    running: asyncio.Lock = field(default_factory=asyncio.Lock)
    last: tuple[datetime, Verdict] | None = None


@router.post("/verify", summary="Verify the trail", responses=errors(409))
async def verify_trail(control: Control, request: Request) -> Verdict:
    """Compare the whole trail in the store with its signatures.

    All records are read, which takes a while if there are many; one verification runs at a time.
    Auditors may start one too. `groundwire audit verify` does the same, also for files.
    """
    verifying: Verifying = request.app.state.verifying
    if verifying.running.locked():
        raise Problem.named("verification_running")
    async with verifying.running:
        keys = await asyncio.to_thread(signing_keys, control.config)
        found = Verdict.model_validate(await verify_store(control.store, keys))
        verifying.last = now(), found
        return found


def filters_of(asked: Filter) -> dict[str, Any]:
    """Return the fields of a filter that are set, as the audit event of an export has them."""
    moments = {"since": asked.since, "until": asked.until}
    given = {
        "tenant": asked.tenant,
        "type": list(asked.types) or None,
        "trace_id": asked.trace_id,
        "writer": asked.writer,
        "contains": " and ".join(map(" or ".join, asked.contains)) or None,
        **{name: None if each is None else each.isoformat() for name, each in moments.items()},
    }
    return {name: value for name, value in given.items() if value is not None}
