"""``/v1/admin/tenants``: who there is, and what holds for them."""

from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request, Response

from groundwire.control.audit.cursor import to_cursor
from groundwire.control.tenants.effective import effective
from groundwire.control.tenants.record import Changed, TenantRecord
from groundwire.control.tenants.registry import Registry
from groundwire.gateway.admin.examples import DVARA, POLICY
from groundwire.gateway.admin.models import (
    Cursor,
    EffectivePolicy,
    EffectiveValue,
    Limit,
    NewTenant,
    Policy,
    Renaming,
    Tenant,
    TenantChange,
    TenantId,
    TenantPage,
    TenantPolicy,
)
from groundwire.gateway.admin.route import (
    AdminRoute,
    IfMatch,
    after_of,
    control_of,
    errors,
    events_of,
    tagged,
    version_of,
)

PREFIX = "/v1/admin/tenants"

router = APIRouter(prefix=PREFIX, route_class=AdminRoute, tags=["Tenants"])


@router.get("", summary="List tenants", operation_id="list_tenants", responses=errors(400))
async def list_tenants(request: Request, cursor: Cursor = None, limit: Limit = 100) -> TenantPage:
    """All tenants by id, those of the configuration among them."""
    after, stored = after_of(cursor), await control_of(request).registry.tenants()
    found = [each for each in stored if after is None or each.id > after]
    more = to_cursor(found[limit - 1].id) if len(found) > limit else None
    return TenantPage(tenants=[Tenant.model_validate(each) for each in found[:limit]], next=more)


@router.post(
    "",
    status_code=201,
    summary="Make a tenant",
    operation_id="create_tenant",
    responses=errors(409, has_body=True),
)
async def create_tenant(request: Request, response: Response, body: NewTenant) -> Tenant:
    """Make a tenant; one that is there stays as it is, and the answer is 409."""
    control = control_of(request)

    async def make(registry: Registry) -> Changed:
        return await registry.create(
            body.id,
            name=body.name,
            metadata=body.metadata,
            policy=body.policy,
            check=control.check_overrides,
        )

    change = await control.change(make, events_of(request).changed)
    return _shown(response, change.record)


@router.get("/{tenant}", summary="See a tenant", operation_id="get_tenant", responses=errors(404))
async def get_tenant(request: Request, response: Response, tenant: TenantId) -> Tenant:
    """What is stored of a tenant."""
    return _shown(response, await control_of(request).registry.tenant(tenant))


@router.put(
    "/{tenant}",
    summary="Change metadata, or make a tenant",
    operation_id="put_tenant",
    responses={
        **errors(412, has_body=True),
        201: {"model": Tenant, "description": "It was made."},
    },
)
async def put_tenant(
    request: Request,
    response: Response,
    tenant: TenantId,
    body: Annotated[TenantChange, Body(openapi_examples=DVARA)],
    if_match: IfMatch = None,
) -> Tenant:
    """Merge metadata, as DVARA does: keys that are not named stay, null removes one.

    A tenant that is not there is made. Values of `grounding.*` that cannot be meant are kept, told
    in `warnings`, and inherit. It is in effect here before the answer, elsewhere within a second.
    """
    version = version_of(if_match)

    async def put(registry: Registry) -> Changed:
        return await registry.put_metadata(
            tenant, body.metadata, name=body.name, if_version=version
        )

    change = await control_of(request).change(put, events_of(request).changed)
    response.status_code = 201 if change.is_new else 200
    return _shown(response, change.record, ignored=body.model_extra or ())


@router.patch(
    "/{tenant}",
    summary="Name a tenant",
    operation_id="rename_tenant",
    responses=errors(404, 412, has_body=True),
)
async def rename_tenant(
    request: Request, response: Response, tenant: TenantId, body: Renaming, if_match: IfMatch = None
) -> Tenant:
    """Give a tenant another name for people to read; null: none."""
    version = version_of(if_match)

    async def rename(registry: Registry) -> Changed:
        return await registry.rename(tenant, body.name, if_version=version)

    change = await control_of(request).change(rename, events_of(request).changed)
    return _shown(response, change.record)


@router.delete(
    "/{tenant}",
    status_code=204,
    summary="Delete a tenant",
    operation_id="delete_tenant",
    responses=errors(400, 404, 409, 412),
)
async def delete_tenant(request: Request, tenant: TenantId, if_match: IfMatch = None) -> None:
    """Delete a tenant with its policy and its keys, which are not taken from then on.

    Its audit trail stays. What the configuration has of it stays, and holds.
    """
    events, version = events_of(request), version_of(if_match)
    await control_of(request).change(
        lambda registry: registry.delete(tenant, if_version=version),
        lambda deleted: (events.deleted(deleted),),
    )


# The policy.


@router.get(
    "/{tenant}/policy", summary="See a policy", operation_id="get_policy", responses=errors(404)
)
async def get_policy(request: Request, response: Response, tenant: TenantId) -> TenantPolicy:
    """What a tenant has of its own under our names; its metadata counts where this is silent."""
    record = await control_of(request).registry.tenant(tenant)
    return _policy(response, record)


@router.put(
    "/{tenant}/policy",
    summary="Replace a policy",
    operation_id="put_policy",
    responses=errors(404, 412, has_body=True),
)
async def put_policy(
    request: Request,
    response: Response,
    tenant: TenantId,
    body: Annotated[Policy, Body(openapi_examples=POLICY)],
    if_match: IfMatch = None,
) -> TenantPolicy:
    """Put another policy in the place of a tenant's; fields that are not named inherit.

    What is not possible is refused, with what is: nothing is stored then.
    """
    return await _set_policy(request, response, tenant, body, if_match, merges=False)


@router.patch(
    "/{tenant}/policy",
    summary="Change a policy",
    operation_id="patch_policy",
    responses=errors(404, 412, has_body=True),
)
async def patch_policy(
    request: Request,
    response: Response,
    tenant: TenantId,
    body: Annotated[Policy, Body(openapi_examples=POLICY)],
    if_match: IfMatch = None,
) -> TenantPolicy:
    """Change fields of a tenant's policy; null lets one inherit, others stay as they are."""
    return await _set_policy(request, response, tenant, body, if_match, merges=True)


@router.get(
    "/{tenant}/effective",
    summary="See what holds",
    operation_id="get_effective",
    responses=errors(404),
)
async def get_effective(request: Request, tenant: TenantId) -> EffectivePolicy:
    """What holds for a tenant, field by field, and who says so.

    The first that says something counts: its policy, its metadata, the configuration's section of
    it, a decision that applies, the configuration as a whole.
    """
    control = control_of(request)
    record = await control.registry.tenant(tenant)
    found = effective(control.config, record, check=control.check_overrides)
    values = [EffectiveValue.model_validate(each) for each in found]
    return EffectivePolicy(tenant=tenant, values=values)


async def _set_policy(
    request: Request,
    response: Response,
    tenant: str,
    policy: dict[str, Any],
    if_match: str | None,
    *,
    merges: bool,
) -> TenantPolicy:
    control, version = control_of(request), version_of(if_match)

    async def put(registry: Registry) -> Changed:
        return await registry.set_policy(
            tenant, policy, merges=merges, if_version=version, check=control.check_overrides
        )

    change = await control.change(put, events_of(request).changed)
    return _policy(response, change.record)


def _policy(response: Response, record: TenantRecord) -> TenantPolicy:
    tagged(response, record.version)
    return TenantPolicy(tenant=record.id, policy=dict(record.policy), version=record.version)


def _shown(response: Response, record: TenantRecord, *, ignored: Iterable[str] = ()) -> Tenant:
    tagged(response, record.version)
    shown = Tenant.model_validate(record)
    shown.warnings += [
        f"{name[:60]!r} is no field of a tenant, and is ignored." for name in ignored
    ]
    return shown
