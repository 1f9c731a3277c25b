"""Pages about tenants: their list, their settings (the Grounding tab), and their keys."""

import asyncio
import json
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from groundwire.config.tenants import METADATA
from groundwire.control.accounts import AccountRole
from groundwire.control.audit.quoted import AuditText, Keeping
from groundwire.control.store.moments import now
from groundwire.control.tenants.effective import effective
from groundwire.control.tenants.errors import TenantError, VersionMismatchError
from groundwire.control.tenants.record import TenantRecord, over
from groundwire.detection.values import DetectorInfo
from groundwire.errors import ConfigError, GroundwireError
from groundwire.gateway.admin import keys, tenants
from groundwire.gateway.admin.models import NewKey, NewTenantKey
from groundwire.gateway.admin.problems import admin_problem
from groundwire.gateway.console import grounding
from groundwire.gateway.console.replay import LIMIT_S, Effect, replay, replayable
from groundwire.gateway.console.visit import HOME, Visit, screen
from groundwire.policy.policy import Overrides

TENANTS = f"{HOME}/tenants"
TENANT = f"{TENANTS}/{{tenant}}"

#: Highest number of tenants on one page of the list.
_LIMIT = 100


async def _list(visit: Visit, *, status: int = 200, problem: str = "") -> Response:
    asked, after = visit.query.get("q", "").strip(), visit.query.get("after", "")
    records = [
        each
        for each in await visit.control.registry.tenants()
        if each.id > after and asked.lower() in f"{each.id} {each.name or ''}".lower()
    ]
    shown = [(each, _in_effect(visit, each)) for each in records[:_LIMIT]]
    return visit.page(
        "tenants",
        status=status,
        shown=shown,
        asked=asked,
        after=shown[-1][0].id if len(records) > _LIMIT else "",
        problem=problem,
        sent=visit.form,
    )


def _in_effect(visit: Visit, record: TenantRecord) -> dict[str, Any]:
    config, check = visit.control.config, visit.control.check_overrides
    return {each.name: each for each in effective(config, record, check=check)}


async def _create(visit: Visit) -> Response:
    id_ = visit.form.get("id", "").strip()
    try:
        await visit.control.change(
            lambda registry: registry.create(id_, name=visit.form.get("name")), visit.events.changed
        )
    except TenantError as error:
        return await _list(visit, status=admin_problem(error).status, problem=str(error))
    return RedirectResponse(tenant_path(id_, "?done=made"), 303)


async def _show(visit: Visit) -> Response:
    return await _grounding(visit, await visit.control.registry.tenant(visit.part("tenant")))


async def _fill_in(visit: Visit) -> Response:
    """Fill the values of the preset ``strict`` into the form, without saving them."""
    record = await visit.control.registry.tenant(visit.part("tenant"))
    sent = {**visit.form, **grounding.preset("strict")}
    return await _grounding(visit, record, sent=sent, is_preset=True)


async def _grounding(
    visit: Visit,
    record: TenantRecord,
    *,
    sent: Mapping[str, str] | None = None,
    problems: Mapping[str, str] | None = None,
    problem: str = "",
    status: int = 422,
    is_preset: bool = False,
    effect: Effect | None = None,
) -> Response:
    """Render the tab with a tenant's settings, or with the values ``sent`` in their place.

    ``problem`` says why the form was refused, and ``problems`` why values are refused, by field.
    Without a ``problem``, the status is 200 in place of ``status``. ``effect`` is the effect of
    ``sent`` on stored answers; ``None`` if ``sent`` was not tried.
    """
    config = visit.control.config
    keeping = Keeping.of(config.audit)
    others = {key: text for key, text in record.metadata.items() if key not in METADATA}
    fields = grounding.form_of(config, record, sent=sent, problems=problems)
    in_effect = _in_effect(visit, record)
    changes, then = {}, None
    if effect is not None:
        changes = grounding.changes_of(fields, in_effect, grounding.read_form(visit.form)[0])
        then = await detector_of(visit, effect.then)
    return visit.page(
        "tenant",
        status=status if problem else 200,
        title=record.id,
        record=record,
        fields=fields,
        in_effect=in_effect,
        problem=problem,
        is_preset=is_preset,
        effect=effect,
        changes=changes,
        then=then,
        limit_s=LIMIT_S,
        detector=await detector_of(visit, visit.control.directory.get(record.id)),
        are_texts_kept=keeping.text is AuditText.FULL and keeping.keeps_detail,
        others=others if visit.who.is_admin else visit.events.redacted({"": others})[""],
        seen=json.dumps({each.name: each.own for each in fields}),
    )


async def _save(visit: Visit) -> Response:
    id_ = visit.part("tenant")
    record = await visit.control.registry.tenant(id_)
    values, problems = grounding.read_form(visit.form)
    if problems:
        problem = "Nothing was saved: see the fields that are marked."
        return await _grounding(visit, record, sent=visit.form, problem=problem, problems=problems)
    policy, metadata = grounding.split(record, values)
    if not policy and not metadata:
        return RedirectResponse(tenant_path(id_, "?done=same"), 303)
    try:
        await change_policy(visit, policy, metadata)
    except VersionMismatchError:
        newer = await visit.control.registry.tenant(id_)
        problem = (
            "Somebody else changed this tenant meanwhile. Below are their settings with your "
            "changes, not saved yet."
        )
        mine = grounding.changed_fields(visit.form)
        return await _grounding(visit, newer, sent=mine, problem=problem, status=409)
    except ConfigError as error:
        return await _not_possible(visit, record, error)
    return RedirectResponse(tenant_path(id_, "?done=saved"), 303)


async def change_policy(
    visit: Visit, policy: Mapping[str, object], metadata: Mapping[str, object] | None = None
) -> None:
    """Change a tenant's policy and metadata, if the tenant still has the version in the form.

    All errors of :meth:`.Registry.set_policy` and :meth:`.ControlPlane.change` are raised.
    """
    version = visit.form.get("version", "")
    await visit.control.change(
        lambda registry: registry.set_policy(
            visit.part("tenant"),
            policy,
            merges=True,
            metadata=metadata or {},
            if_version=int(version[:9]) if version.isdecimal() else -1,
        ),
        visit.events.changed,
    )


async def _not_possible(visit: Visit, record: TenantRecord, error: ConfigError) -> Response:
    found = admin_problem(error)
    problems = {found.param or "": found.message}
    return await _grounding(
        visit, record, sent=visit.form, problem=found.message, problems=problems
    )


async def _try(visit: Visit) -> Response:
    """Replay stored answers under the settings in the form, without saving the settings."""
    control, id_ = visit.control, visit.part("tenant")
    record = await control.registry.tenant(id_)
    values, problems = grounding.read_form(visit.form)
    if problems:
        problem = "Nothing was tried: see the fields that are marked."
        return await _grounding(visit, record, sent=visit.form, problem=problem, problems=problems)
    if control.pipeline is None:
        problem = "Nothing was tried: the models are not loaded. See the overview."
        return await _grounding(visit, record, sent=visit.form, problem=problem)
    if visit.own.replaying.locked():
        problem = "Nothing was tried: somebody else tries settings now. Try again in a moment."
        return await _grounding(visit, record, sent=visit.form, problem=problem)
    then = over(Overrides(**values), control.directory.configured.tenants.get(id_))
    try:
        control.check_overrides(then)
    except ConfigError as error:
        return await _not_possible(visit, record, error)
    before = control.directory.get(id_) or Overrides()
    async with visit.own.replaying:
        records, n_left_out = replayable(await visit.own.labels.latest_of_each_kind(id_))
        replaying = partial(replay, tenant=id_, now=before, then=then, n_left_out=n_left_out)
        effect = await asyncio.to_thread(replaying, control.pipeline, records)
    return await _grounding(visit, record, sent=visit.form, effect=effect)


async def _rename(visit: Visit) -> Response:
    id_ = visit.part("tenant")
    await visit.control.change(
        lambda registry: registry.rename(id_, visit.form.get("name")), visit.events.changed
    )
    return RedirectResponse(tenant_path(id_, "?done=saved"), 303)


async def _delete(visit: Visit) -> Response:
    id_ = visit.part("tenant")
    record = await visit.control.registry.tenant(id_)
    if visit.form.get("id", "").strip() != id_:
        problem = "Nothing was deleted: the id that was typed is another one."
        return await _grounding(visit, record, problem=problem)
    await tenants.delete_tenant(visit.control, visit.events, id_, None)
    return RedirectResponse(f"{TENANTS}?done=removed", 303)


async def _keys(
    visit: Visit, *, made: NewKey | None = None, problem: str = "", status: int = 200
) -> Response:
    id_ = visit.part("tenant")
    return visit.page(
        "keys",
        status=status,
        title=f"keys of {id_}",
        record=await visit.control.registry.tenant(id_),
        keys=await visit.control.registry.keys(id_),
        made=made,
        problem=problem,
        sent=visit.form,
    )


async def _make_key(visit: Visit) -> Response:
    id_, days = visit.part("tenant"), visit.form.get("days", "").strip()
    try:
        ends = now() + timedelta(days=float(days)) if days else None
    except (ValueError, OverflowError):
        return await _keys(visit, problem=f"{days!r:.40} is no number of days.", status=422)
    try:
        key = NewTenantKey(name=visit.form.get("name"), expires_at=ends)
        made = await keys.create_key(visit.control, visit.events, id_, key)
    except TenantError as error:
        return await _keys(visit, problem=str(error), status=admin_problem(error).status)
    return await _keys(visit, made=made)


async def _revoke_key(visit: Visit) -> Response:
    id_ = visit.part("tenant")
    await keys.revoke_key(visit.control, visit.events, id_, visit.part("key"))
    return RedirectResponse(tenant_path(id_, "/keys?done=revoked"), 303)


async def detector_of(visit: Visit, own: Overrides | None) -> DetectorInfo | None:
    """Return the detector, with its threshold, of a tenant with these settings of its own.

    Return ``None`` if the models are not loaded, or the detector cannot be used.
    """
    pipeline = visit.control.pipeline
    if pipeline is None:
        return None
    try:
        return await asyncio.to_thread(pipeline.detector_of, own or Overrides())
    except GroundwireError:
        return None  # if the settings are not possible, the field Detector shows the reason


def tenant_path(id_: str, rest: str = "") -> str:
    """Return the path of a tenant's page, with ``rest`` after it."""
    return f"{TENANTS}/{quote(id_, safe='')}{rest}"


_ADMIN = AccountRole.ADMIN

routes = [
    Route(TENANTS, screen(_list)),
    Route(TENANTS, screen(_create, needs=_ADMIN), methods=["POST"]),
    Route(TENANT, screen(_show)),
    Route(TENANT, screen(_save, needs=_ADMIN), methods=["POST"]),
    Route(f"{TENANT}/strict", screen(_fill_in, needs=_ADMIN), methods=["POST"]),
    Route(f"{TENANT}/try", screen(_try, needs=_ADMIN), methods=["POST"]),
    Route(f"{TENANT}/name", screen(_rename, needs=_ADMIN), methods=["POST"]),
    Route(f"{TENANT}/delete", screen(_delete, needs=_ADMIN), methods=["POST"]),
    Route(f"{TENANT}/keys", screen(_keys)),
    Route(f"{TENANT}/keys", screen(_make_key, needs=_ADMIN), methods=["POST"]),
    Route(f"{TENANT}/keys/{{key}}", screen(_revoke_key, needs=_ADMIN), methods=["POST"]),
]
