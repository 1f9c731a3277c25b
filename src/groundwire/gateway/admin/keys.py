"""The endpoints for keys of tenants and of the admin plane; only a new key's secret is shown."""

from collections.abc import Sequence

from fastapi import Request

from groundwire.control.audit.control_events import ControlEvents
from groundwire.control.audit.cursor import InvalidCursorError, to_cursor
from groundwire.control.tenants.record import KeyRecord
from groundwire.gateway.admin import models
from groundwire.gateway.admin.auth import admin
from groundwire.gateway.admin.route import BODY, After, Control, Events, Limit, admin_router, errors
from groundwire.gateway.control import ControlPlane
from groundwire.gateway.http.problems import Problem

router = admin_router("Keys")

OF_TENANTS, OF_ADMINS = "/v1/admin/tenants/{tenant}/keys", "/v1/admin/keys"


@router.get(OF_TENANTS, summary="List the keys of a tenant", responses=errors(400, 404))
async def list_keys(
    control: Control, tenant: models.TenantId, after: After, limit: Limit = 100
) -> models.KeyPage:
    """The keys of a tenant, revoked and expired ones too.

    Keys of the configuration come first, then all others, latest first.
    """
    return _page(await control.registry.keys(tenant), after, limit)


@router.post(
    OF_TENANTS, status_code=201, summary="Make a key of a tenant", responses=errors(404, *BODY)
)
async def create_key(
    control: Control, events: Events, tenant: models.TenantId, body: models.NewTenantKey
) -> models.NewKey:
    """Make a key for the requests of a tenant. `secret` is shown this once."""
    return await _made(control, events, body, tenant)


@router.delete(
    f"{OF_TENANTS}/{{key_id}}", summary="Revoke a key of a tenant", responses=errors(404, 409)
)
async def revoke_key(
    control: Control, events: Events, tenant: models.TenantId, key_id: models.KeyId
) -> models.Key:
    """Revoke a key for good; it stays in the list."""
    return await _revoked(control, events, key_id, tenant)


@router.get(OF_ADMINS, summary="List admin keys", responses=errors(400))
async def list_admin_keys(control: Control, after: After, limit: Limit = 100) -> models.KeyPage:
    """The keys of the admin plane, revoked and expired ones too."""
    return _page(await control.registry.keys(None), after, limit)


@router.post(OF_ADMINS, status_code=201, summary="Make an admin key", responses=errors(*BODY))
async def create_admin_key(
    control: Control, events: Events, body: models.NewAdminKey
) -> models.NewKey:
    """Make a key of the admin plane. `secret` is shown this once."""
    return await _made(control, events, body, None)


@router.delete(f"{OF_ADMINS}/{{key_id}}", summary="Revoke an admin key", responses=errors(404, 409))
async def revoke_admin_key(
    control: Control, events: Events, request: Request, key_id: models.KeyId
) -> models.Key:
    """Revoke an admin key for good.

    A key cannot revoke itself, so that the last key that can make others is never revoked.
    """
    if key_id == admin(request).key_id:
        raise Problem.named("own_key")
    return await _revoked(control, events, key_id, None)


@router.get("/v1/admin/me", summary="See the key of this request")
async def me(request: Request) -> models.Me:
    """The key that the request came with, and its role."""
    found = admin(request)
    return models.Me(key_id=found.key_id, role=found.role, name=found.name)


def _page(found: Sequence[KeyRecord], after: str | None, limit: int) -> models.KeyPage:
    """Return the page after the key with the id ``after``; the first page for ``None``.

    Raises:
        InvalidCursorError: If no key has the id ``after``.
    """
    ids = [each.id for each in found]
    if after is not None and after not in ids:
        raise InvalidCursorError
    start = 0 if after is None else ids.index(after) + 1
    page = found[start : start + limit]
    more = to_cursor(page[-1].id) if len(found) > start + limit else None
    return models.KeyPage(keys=[models.Key.model_validate(each) for each in page], next=more)


async def _made(
    control: ControlPlane, events: ControlEvents, body: models.NewTenantKey, tenant: str | None
) -> models.NewKey:
    role = body.role if isinstance(body, models.NewAdminKey) else None
    made = await control.change(
        lambda registry: registry.create_key(
            tenant=tenant, role=role, name=body.name, expires_at=body.expires_at
        ),
        events.key_made,
    )
    return models.NewKey(key=models.Key.model_validate(made.record), secret=made.secret)


async def _revoked(
    control: ControlPlane, events: ControlEvents, key_id: str, tenant: str | None
) -> models.Key:
    revoked = await control.change(
        lambda registry: registry.revoke_key(key_id, tenant=tenant), events.key_revoked
    )
    return models.Key.model_validate(revoked.record)
