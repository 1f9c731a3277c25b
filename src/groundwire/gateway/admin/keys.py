"""Keys: those of tenants, and those of the admin plane. Each is shown once, when it is made."""

from collections.abc import Awaitable, Callable, Sequence

from fastapi import APIRouter, Request

from groundwire.control.audit.cursor import InvalidCursorError, to_cursor
from groundwire.control.tenants.record import KeyRecord
from groundwire.control.tenants.record import NewKey as Made
from groundwire.control.tenants.registry import Registry
from groundwire.gateway.admin.auth import admin
from groundwire.gateway.admin.models import (
    Cursor,
    Key,
    KeyId,
    KeyPage,
    Limit,
    NewAdminKey,
    NewKey,
    NewTenantKey,
    TenantId,
)
from groundwire.gateway.admin.route import (
    AdminRoute,
    after_of,
    control_of,
    errors,
    events_of,
)
from groundwire.gateway.http.problems import INVALID_REQUEST, Problem

router = APIRouter(route_class=AdminRoute, tags=["Keys"])

OF_TENANTS, OF_ADMINS = "/v1/admin/tenants/{tenant}/keys", "/v1/admin/keys"


@router.get(
    OF_TENANTS,
    summary="List the keys of a tenant",
    operation_id="list_keys",
    responses=errors(400, 404),
)
async def list_keys(
    request: Request, tenant: TenantId, cursor: Cursor = None, limit: Limit = 100
) -> KeyPage:
    """The keys of a tenant, revoked and expired ones too: those of the configuration, the latest
    first."""  # noqa: D205, D209
    return _page(await control_of(request).registry.keys(tenant), cursor, limit)


@router.post(
    OF_TENANTS,
    status_code=201,
    summary="Make a key of a tenant",
    operation_id="create_key",
    responses=errors(404, has_body=True),
)
async def create_key(request: Request, tenant: TenantId, body: NewTenantKey) -> NewKey:
    """Make a key for the requests of a tenant. `secret` is shown this once."""

    async def make(registry: Registry) -> Made:
        return await registry.create_key(tenant=tenant, name=body.name, expires_at=body.expires_at)

    return await _made(request, make)


@router.delete(
    f"{OF_TENANTS}/{{key_id}}",
    summary="Revoke a key of a tenant",
    operation_id="revoke_key",
    responses=errors(404, 409),
)
async def revoke_key(request: Request, tenant: TenantId, key_id: KeyId) -> Key:
    """Let a key be taken no more, for good; it stays in the list."""
    return await _revoked(request, key_id, tenant)


@router.get(
    OF_ADMINS, summary="List admin keys", operation_id="list_admin_keys", responses=errors(400)
)
async def list_admin_keys(request: Request, cursor: Cursor = None, limit: Limit = 100) -> KeyPage:
    """The keys of the admin plane, revoked and expired ones too."""
    return _page(await control_of(request).registry.keys(None), cursor, limit)


@router.post(
    OF_ADMINS,
    status_code=201,
    summary="Make an admin key",
    operation_id="create_admin_key",
    responses=errors(has_body=True),
)
async def create_admin_key(request: Request, body: NewAdminKey) -> NewKey:
    """Make a key of the admin plane. `secret` is shown this once."""

    async def make(registry: Registry) -> Made:
        return await registry.create_key(role=body.role, name=body.name, expires_at=body.expires_at)

    return await _made(request, make)


@router.delete(
    f"{OF_ADMINS}/{{key_id}}",
    summary="Revoke an admin key",
    operation_id="revoke_admin_key",
    responses=errors(404, 409),
)
async def revoke_admin_key(request: Request, key_id: KeyId) -> Key:
    """Let an admin key be taken no more, for good.

    A key does not revoke itself, and none is revoked without which no admin key would be left that
    does not expire, stored or configured: so there is always one that can make others.
    """
    if key_id == admin(request).key_id:
        raise Problem(
            status=409,
            type=INVALID_REQUEST,
            code="own_key",
            message="The key that is to be revoked is the one that this request came with.",
            next_step="Make another admin key, and revoke this one with that.",
        )
    return await _revoked(request, key_id, None)


def _page(found: Sequence[KeyRecord], cursor: str | None, limit: int) -> KeyPage:
    """Return the page after a cursor.

    Raises:
        InvalidCursorError: If the cursor did not come with a page of this list.
    """
    after, ids = after_of(cursor), [each.id for each in found]
    if after is not None and after not in ids:
        raise InvalidCursorError
    start = 0 if after is None else ids.index(after) + 1
    page = found[start : start + limit]
    more = to_cursor(page[-1].id) if len(found) > start + limit else None
    return KeyPage(keys=[Key.model_validate(each) for each in page], next=more)


async def _made(request: Request, make: Callable[[Registry], Awaitable[Made]]) -> NewKey:
    events = events_of(request)
    made = await control_of(request).change(make, events.key_made)
    return NewKey(key=Key.model_validate(made.record), secret=made.secret)


async def _revoked(request: Request, key_id: str, tenant: str | None) -> Key:
    events = events_of(request)
    revoked = await control_of(request).change(
        lambda registry: registry.revoke_key(key_id, tenant=tenant, keeps_admin=tenant is None),
        events.key_revoked,
    )
    return Key.model_validate(revoked.record)
