"""The shapes of requests and responses, from which the OpenAPI document is generated.

Ids, names, metadata and policies are only described here. The registry validates them: its errors
say more, and it serves the command line as well.
"""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Body, Path
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, WithJsonSchema

from groundwire.config.tenants import KINDS
from groundwire.control.audit.verdict import TrailFinding, TrailStatus
from groundwire.control.keys import Role
from groundwire.control.tenants.effective import Effective
from groundwire.control.tenants.record import KeyStatus

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
    Field(description="For people to read: one line."),
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
        description="Texts by key. DVARA's `grounding.*` set the policy, leniently: what cannot be "
        "meant is told in `warnings` and inherits. In a change, null removes a key."
    ),
]


def _policy_schema(*, is_change: bool) -> dict[str, Any]:
    """Return the JSON Schema of a policy; in a change, null unsets a field."""
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
    Field(description="What the tenant has of its own; what is absent, or null, inherits."),
]


#: A policy as the body of a request.
PolicyBody = Annotated[
    Policy,
    Body(
        openapi_examples={
            "block": {
                "summary": "Withhold what is not supported",
                "value": {"action": "block", "detector": "reader", "operating_point": "recall"},
            }
        }
    ),
]


class _Shown(BaseModel):
    """A shape that is read from the attributes of the value that it shows."""

    model_config = ConfigDict(from_attributes=True)


class NewTenant(BaseModel):
    """A tenant to make."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[
        Any,
        WithJsonSchema({"type": "string", "pattern": _ID}),
        Field(description="Of the tenant, for good."),
    ]
    name: Name = None
    metadata: Metadata = {}
    policy: Policy = {}


class TenantChange(BaseModel):
    """A change of a tenant, as DVARA's clients send it; other fields are ignored, and told so."""

    model_config = ConfigDict(extra="allow")

    metadata: Metadata = {}
    name: Name = None


#: The change of DVARA's documentation, as the body of a request.
ChangeBody = Annotated[
    TenantChange,
    Body(
        openapi_examples={
            "dvara": {
                "summary": "As DVARA documents it",
                "value": {
                    "metadata": {
                        "grounding.enabled": "true",
                        "grounding.action": "BLOCK",
                        "grounding.max-sources": "20",
                        "grounding.max-source-length": "5000",
                    }
                },
            }
        }
    ),
]


class Renaming(BaseModel):
    """Another name."""

    model_config = ConfigDict(extra="forbid")

    name: Name


class NewTenantKey(BaseModel):
    """A key to make, of a tenant."""

    model_config = ConfigDict(extra="forbid")

    name: Name = None
    expires_at: AwareDatetime | None = Field(
        None, description="From when on it is not taken; null: it is always taken."
    )


class NewAdminKey(NewTenantKey):
    """A key to make, of the admin plane."""

    role: Role = Field(
        description="admin does everything; auditor reads everything, and changes nothing."
    )


class Tenant(_Shown):
    """A tenant."""

    id: str
    name: str | None
    metadata: dict[str, str]
    policy: Annotated[dict[str, Any], WithJsonSchema(_policy_schema(is_change=False))]
    version: int = Field(
        description="One more with each change, and its ETag; 0: it is not stored."
    )
    is_configured: bool = Field(
        description="Whether the configuration has something of it, which counts where neither "
        "policy nor metadata says otherwise."
    )
    created_at: datetime | None
    updated_at: datetime | None
    warnings: list[str] = Field(description="What of it cannot be meant, and inherits.")


class TenantPage(BaseModel):
    """A page of tenants, by id."""

    tenants: list[Tenant]
    next: str | None = Field(description="The cursor of the next page; null: this is the last.")


class TenantPolicy(BaseModel):
    """The policy of a tenant."""

    tenant: str
    policy: Annotated[dict[str, Any], WithJsonSchema(_policy_schema(is_change=False))]
    version: int


class EffectivePolicy(BaseModel):
    """What holds for a tenant."""

    tenant: str
    values: tuple[Effective, ...]


class Key(_Shown):
    """A key: never the key itself."""

    id: str = Field(description="What logs and events call it.")
    tenant: str | None = Field(description="Whose requests come with it; null of an admin key.")
    role: Role | None = Field(description="Of an admin key.")
    name: str | None
    status: KeyStatus
    is_configured: bool = Field(
        description="Whether it stands in the configuration, and is removed there."
    )
    created_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To half a minute.")


class KeyPage(BaseModel):
    """A page of keys: those of the configuration, then the latest first."""

    keys: list[Key]
    next: str | None = Field(description="The cursor of the next page; null: this is the last.")


class NewKey(BaseModel):
    """A key that was just made."""

    key: Key
    secret: str = Field(description="The key itself. It is shown this once, and kept nowhere.")


class Me(BaseModel):
    """Whose request it was."""

    key_id: str
    role: Role
    name: str | None


class Link(BaseModel):
    """Where an event stands in its chain."""

    writer: str = Field(description="The chain: one start of one process.")
    seq: int
    mac: str = Field(description="What signs it.")


class Event(BaseModel):
    """An event of the audit trail."""

    id: str
    timestamp: str
    tenant: str = Field(description="Whose; `-`: nobody's.")
    type: str
    trace_id: str
    payload: dict[str, Any]
    chain: Link
    has_detail: bool = Field(description="Whether what was found is kept in full.")
    is_readable: bool = Field(description="False if its record is no event any more.")


class WholeEvent(Event):
    """An event with its detail."""

    detail: dict[str, Any] | None


class EventPage(BaseModel):
    """A page of the trail."""

    events: list[Event]
    next: str | None = Field(description="The cursor of the next page; null: this is the last.")


class Verdict(_Shown):
    """Whether the trail is as it was written."""

    status: TrailStatus
    records: int
    chains: int
    chains_open: int = Field(description="Whose processes write still, or were killed.")
    findings_total: int
    findings: tuple[TrailFinding, ...] = Field(description="The first thousand.")
    notes: list[str]
