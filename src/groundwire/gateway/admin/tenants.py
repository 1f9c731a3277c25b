"""``/v1/admin/tenants``: tenants, their policies, and the settings that hold for them."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Response

from groundwire.control.audit.cursor import to_cursor
from groundwire.control.tenants.effective import effective
from groundwire.control.tenants.record import Changed, TenantRecord
from groundwire.control.tenants.registry import Registry
from groundwire.gateway.admin import models
from groundwire.gateway.admin.route import (
    BODY,
    After,
    Control,
    Events,
    Limit,
    Version,
    admin_router,
    errors,
)

router = admin_router("Tenants", prefix="/v1/admin/tenants")


@dataclass(frozen=True, slots=True)
class _Changing:
    """Changes tenants for one request; FastAPI makes this object from the request."""

    control: Control
    events: Events
    response: Response

    async def change(self, work: Callable[[Registry], Awaitable[Changed]]) -> Changed:
        """Change a tenant with ``work``, and record that; see :meth:`.ControlPlane.change`."""
        return await self.control.change(work, self.events.changed)


Changing = Annotated[_Changing, Depends()]


@router.get("", summary="List tenants", responses=errors(400))
async def list_tenants(control: Control, after: After, limit: Limit = 100) -> models.TenantPage:
    """All tenants, ordered by id, including those of the configuration."""
    stored = await control.registry.tenants()
    found = [each for each in stored if after is None or each.id > after]
    more = to_cursor(found[limit - 1].id) if len(found) > limit else None
    return models.TenantPage(
        tenants=[models.Tenant.model_validate(each) for each in found[:limit]], next=more
    )


@router.post("", status_code=201, summary="Make a tenant", responses=errors(409, *BODY))
async def create_tenant(request: Changing, body: models.NewTenant) -> models.Tenant:
    """Make a tenant. If a tenant with this id exists, it is not changed, and the answer is 409."""
    change = await request.change(
        lambda registry: registry.create(
            body.id, name=body.name, metadata=body.metadata, policy=body.policy
        )
    )
    return _shown(request.response, change.record)


@router.get("/{tenant}", summary="See a tenant", responses=errors(404))
async def get_tenant(
    control: Control, response: Response, tenant: models.TenantId
) -> models.Tenant:
    """A tenant, with its metadata and policy as they are stored."""
    return _shown(response, await control.registry.tenant(tenant))


@router.put(
    "/{tenant}",
    summary="Change metadata, or make a tenant",
    responses={**errors(412, *BODY), 201: {"model": models.Tenant, "description": "It was made."}},
)
async def put_tenant(
    request: Changing, tenant: models.TenantId, body: models.ChangeBody, version: Version
) -> models.Tenant:
    """Merge metadata, as DVARA does: null removes a key, and keys that are not named are kept.

    A tenant that does not exist is made. Values of `grounding.*` that are not valid are stored, and
    named in `warnings`, but have no effect. The change is in effect in this process before the
    answer, and in all others within a second.
    """
    change = await request.change(
        lambda registry: registry.put_metadata(
            tenant, body.metadata, name=body.name, if_version=version
        )
    )
    request.response.status_code = 201 if change.is_new else 200
    return _shown(request.response, change.record, ignored=body.model_extra or ())


@router.patch("/{tenant}", summary="Name a tenant", responses=errors(404, 412, *BODY))
async def rename_tenant(
    request: Changing, tenant: models.TenantId, body: models.Renaming, version: Version
) -> models.Tenant:
    """Give a tenant another name for people to read; null removes the name."""
    change = await request.change(
        lambda registry: registry.rename(tenant, body.name, if_version=version)
    )
    return _shown(request.response, change.record)


@router.delete(
    "/{tenant}", status_code=204, summary="Delete a tenant", responses=errors(400, 404, 409, 412)
)
async def delete_tenant(
    control: Control, events: Events, tenant: models.TenantId, version: Version
) -> None:
    """Delete a tenant with its policy and its keys, which are refused from then on.

    Its audit trail stays. A section for the tenant in the configuration stays in effect.
    """
    await control.change(
        lambda registry: registry.delete(tenant, if_version=version), events.deleted
    )


@router.get("/{tenant}/policy", summary="See a policy", responses=errors(404))
async def get_policy(
    control: Control, response: Response, tenant: models.TenantId
) -> models.TenantPolicy:
    """A tenant's policy as it is stored. Values that it lacks may come from the metadata."""
    return _policy(response, await control.registry.tenant(tenant))


@router.put("/{tenant}/policy", summary="Replace a policy", responses=errors(404, 412, *BODY))
async def put_policy(
    request: Changing, tenant: models.TenantId, body: models.PolicyBody, version: Version
) -> models.TenantPolicy:
    """Replace the policy of a tenant; fields that are not named inherit.

    A policy that is not valid is refused, and the error names the valid values.
    """
    change = await request.change(
        lambda registry: registry.set_policy(tenant, body, merges=False, if_version=version)
    )
    return _policy(request.response, change.record)


@router.patch("/{tenant}/policy", summary="Change a policy", responses=errors(404, 412, *BODY))
async def patch_policy(
    request: Changing, tenant: models.TenantId, body: models.PolicyBody, version: Version
) -> models.TenantPolicy:
    """Change fields of a tenant's policy; null lets a field inherit, other fields are kept."""
    change = await request.change(
        lambda registry: registry.set_policy(tenant, body, merges=True, if_version=version)
    )
    return _policy(request.response, change.record)


@router.get("/{tenant}/effective", summary="See the settings in effect", responses=errors(404))
async def get_effective(control: Control, tenant: models.TenantId) -> models.EffectivePolicy:
    """The settings that hold for a tenant, field by field, each with its origin.

    The first origin that has a value counts: the tenant's policy, its metadata, its section of the
    configuration, the configuration as a whole, the default. If the tenant has no value of its own,
    `decisions` names the decisions that may set another value for some requests.
    """
    record = await control.registry.tenant(tenant)
    found = effective(control.config, record, check=control.check_overrides)
    values = [models.EffectiveValue.model_validate(each) for each in found]
    return models.EffectivePolicy(tenant=tenant, values=values)


def _policy(response: Response, record: TenantRecord) -> models.TenantPolicy:
    _tag(response, record)
    return models.TenantPolicy(tenant=record.id, policy=dict(record.policy), version=record.version)


def _shown(
    response: Response, record: TenantRecord, *, ignored: Iterable[str] = ()
) -> models.Tenant:
    _tag(response, record)
    shown = models.Tenant.model_validate(record)
    shown.warnings += [
        f"{name[:60]!r} is no field of a tenant, and is ignored." for name in ignored
    ]
    return shown


def _tag(response: Response, record: TenantRecord) -> None:
    """Set the ETag of a response, if the tenant is stored."""
    if record.version:
        response.headers["ETag"] = f'"{record.version}"'
