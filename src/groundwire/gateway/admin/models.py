"""Pydantic models of requests and responses, from which the OpenAPI document is generated.

Ids, names, and the contents of metadata and policies are described but not validated here. The
registry of tenants validates them, since the registry also serves the command line.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Body, Path
from pydantic import AwareDatetime, Field, WithJsonSchema

from groundwire.config.tenants import KINDS
from groundwire.control.keys import Role
from groundwire.control.tenants.record import KeyStatus
from groundwire.gateway.http.openapi import ApiModel, plane_texts

_EXAMPLES = plane_texts("admin")["examples"]
_ID = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"

TenantId = Annotated[
    str,
    Path(description="The id of the tenant."),
    WithJsonSchema({"type": "string", "pattern": _ID}),
]
KeyId = Annotated[str, Path(description="The id of the key, as lists and events have it.")]
Name = Annotated[
    Any,
    WithJsonSchema({"type": ["string", "null"], "maxLength": 200}),
    Field(description="A name for people to read: one line."),
]
Metadata = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "maxProperties": 100,
            "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
        }
    ),
    Field(
        description="Texts by key. DVARA's `grounding.*` set the policy: a value that is not valid "
        "is named in `warnings`, and inherits. In a change, null removes a key."
    ),
]


def _policy_schema(*, is_change: bool) -> dict[str, Any]:
    """Return the JSON Schema of a policy; in a change, ``null`` is allowed and unsets a field."""
    fields: dict[str, Any] = {}
    for name, kind in KINDS.items():
        own = kind.schema()
        fields[name] = {
            "description": f"It must be {kind.legal}.",
            **({"anyOf": [own, {"type": "null"}]} if is_change else own),
        }
    return {"type": "object", "additionalProperties": False, "properties": fields}


Policy = Annotated[
    dict[str, Any],
    WithJsonSchema(_policy_schema(is_change=True)),
    Field(description="The tenant's own settings; one that is absent, or null, inherits."),
]


#: A policy as the body of a request.
PolicyBody = Annotated[Policy, Body(openapi_examples=_EXAMPLES["policy"])]


class NewTenant(ApiModel, extra="forbid"):
    """A tenant to make.

    Attributes:
        id: The id of the tenant, which never changes.
    """

    id: Annotated[Any, WithJsonSchema({"type": "string", "pattern": _ID})]
    name: Name = None
    metadata: Metadata = Field({})
    policy: Policy = Field({})


class TenantChange(ApiModel, extra="allow"):
    """A change of a tenant, as DVARA's clients send it.

    Other fields are ignored, and named in the `warnings` of the response.
    """

    metadata: Metadata = Field({})
    name: Name = None


#: A change of a tenant as the body of a request.
ChangeBody = Annotated[TenantChange, Body(openapi_examples=_EXAMPLES["change"])]


class Renaming(ApiModel, extra="forbid"):
    """A new name for a tenant."""

    name: Name


class NewTenantKey(ApiModel, extra="forbid"):
    """A key to make for a tenant.

    Attributes:
        expires_at: The moment at which the key expires; null: never.
    """

    name: Name = None
    expires_at: AwareDatetime | None = None


class NewAdminKey(NewTenantKey):
    """A key to make for the admin plane.

    Attributes:
        role: admin does everything; auditor reads everything, and changes nothing.
    """

    role: Role


class Tenant(ApiModel):
    """A tenant.

    Attributes:
        version: A number that grows with each change, and is the ETag; 0: the tenant is not stored.
        is_configured: Whether the tenant is in the configuration. A value of the configuration
            counts if neither policy nor metadata has a value for the same setting.
        warnings: Messages about values and fields that are not valid, and are therefore ignored.
    """

    id: str
    name: str | None
    metadata: dict[str, str]
    policy: Annotated[dict[str, Any], WithJsonSchema(_policy_schema(is_change=False))]
    version: int
    is_configured: bool
    created_at: datetime | None
    updated_at: datetime | None
    warnings: list[str]


class TenantPage(ApiModel):
    """A page of tenants, ordered by id.

    Attributes:
        next: The cursor of the next page; null: this is the last.
    """

    tenants: list[Tenant]
    next: str | None


class TenantPolicy(ApiModel):
    """The policy of a tenant."""

    tenant: str
    policy: Annotated[dict[str, Any], WithJsonSchema(_policy_schema(is_change=False))]
    version: int


class EffectiveValue(ApiModel):
    """A setting that holds for a tenant, and its origin.

    Attributes:
        value: The value; null: no limit, or no value is set.
        origin: policy, metadata, configuration with its place, or default; the first of these that
            has a value.
        warning: Why a value of the tenant is not valid, or why the tenant's detector cannot check
            its answers; null: no warning.
        decisions: Decisions of the configuration that may set another value for the requests that
            they apply to. The list is empty where the tenant has a value of its own.
    """

    name: str
    value: Any
    origin: str
    warning: str | None
    decisions: list[str]


class EffectivePolicy(ApiModel):
    """The settings that hold for a tenant."""

    tenant: str
    values: list[EffectiveValue]


class Key(ApiModel):
    """The data about a key, without its secret.

    Attributes:
        id: The id of the key in logs and events.
        tenant: The tenant whose requests use the key; null for an admin key.
        role: The role of an admin key; null for the key of a tenant.
        is_configured: Whether the key is in the configuration, and can only be removed there.
        last_used_at: When the key was last used; a use of the last half minute may be missing.
    """

    id: str
    tenant: str | None
    role: Role | None
    name: str | None
    status: KeyStatus
    is_configured: bool
    created_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class KeyPage(ApiModel):
    """A page of keys: first the keys of the configuration, then all others, latest first.

    Attributes:
        next: The cursor of the next page; null: this is the last.
    """

    keys: list[Key]
    next: str | None


class NewKey(ApiModel):
    """A key that was just made.

    Attributes:
        secret: The key itself. It is shown only this once, and not stored.
    """

    key: Key
    secret: str


class Me(ApiModel):
    """The key that a request came with."""

    key_id: str
    role: Role
    name: str | None


class Link(ApiModel):
    """The position of an event in its chain of signed events.

    Attributes:
        writer: The id of the chain. A process begins a new chain each time it starts.
        mac: The MAC that signs the event.
    """

    writer: str
    seq: int
    mac: str


class Event(ApiModel):
    """An event of the audit trail.

    Attributes:
        tenant: The tenant; `-`: the event is about no tenant.
        has_detail: Whether the event is stored with all findings.
        is_readable: False if the stored record is no valid event, perhaps because it was changed.
    """

    id: str
    timestamp: str
    tenant: str
    type: str
    trace_id: str
    payload: dict[str, Any]
    chain: Link
    has_detail: bool
    is_readable: bool


class WholeEvent(Event):
    """An event with its detail."""

    detail: dict[str, Any] | None


class EventPage(ApiModel):
    """A page of the trail.

    Attributes:
        next: The cursor of the next page; null: this is the last.
    """

    events: list[Event]
    next: str | None


class Finding(ApiModel):
    """A place where the trail differs from what was written."""

    kind: str
    writer: str | None
    seq: int | None
    text: str


class Verdict(ApiModel):
    """The result of verifying the trail.

    Attributes:
        chains_open: The number of chains without an end: their processes still write, or were
            killed.
        findings: The first thousand findings.
    """

    status: Literal["intact", "tampered", "unverified"]
    records: int
    chains: int
    chains_open: int
    findings_total: int
    findings: list[Finding]
    notes: list[str]
