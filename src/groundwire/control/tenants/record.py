"""Tenants and keys as values: what is stored of them, and what follows from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from groundwire.config import overrides_from_metadata, read_overrides
from groundwire.control.keys import Role
from groundwire.detection.values import FrozenMapping
from groundwire.errors import ConfigError
from groundwire.policy.policy import Overrides

#: Of which version a tenant has to be for a change to be made; ``"*"``: of any, so it is stored.
IfVersion: TypeAlias = int | Literal["*"]

__all__ = [
    "Changed",
    "Deleted",
    "Diff",
    "IfVersion",
    "KeyRecord",
    "KeyStatus",
    "NewKey",
    "Revoked",
    "Role",
    "TenantRecord",
    "TenantSnapshot",
    "over",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRecord:
    """What is stored of a tenant.

    Attributes:
        id: Of the tenant, for good.
        name: For people to read.
        metadata: DVARA's: texts, kept as they came, even where they cannot be meant.
        policy: Ours: fields of :class:`Overrides`, as JSON values.
        created_at: When it was stored first; ``None``: it stands in the configuration alone.
        updated_at: When it was changed last.
        version: One more with each change; what is deleted and made again begins above all that it
            was. 0: it stands in the configuration alone.
        is_configured: Whether the configuration has something of it, which counts where neither
            policy nor metadata says otherwise.
    """

    id: str
    name: str | None = None
    metadata: Mapping[str, str] = field(default_factory=lambda: FrozenMapping({}))
    policy: Mapping[str, Any] = field(default_factory=lambda: FrozenMapping({}))
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int = 0
    is_configured: bool = False

    @property
    def is_stored(self) -> bool:
        """Whether it is stored; else it is only read, and the first change stores it."""
        return self.version > 0

    @property
    def overrides(self) -> Overrides:
        """What is stored of it as overrides: the policy, else the metadata."""
        return read_stored(self.metadata, self.policy)[0]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What of it cannot be meant: each of those is inherited instead."""
        return read_stored(self.metadata, self.policy)[1]


def read_stored(
    metadata: Mapping[str, str], policy: Mapping[str, Any]
) -> tuple[Overrides, tuple[str, ...]]:
    """Metadata and policy as overrides, the policy first; it never raises."""
    lenient, warnings = overrides_from_metadata(metadata)
    own, wrong = read_stored_policy(policy)
    return over(own, lenient), (*wrong.values(), *warnings)


def read_stored_policy(policy: Mapping[str, Any]) -> tuple[Overrides, Mapping[str, str]]:
    """A stored policy as overrides; it never raises.

    It was checked when it came. That it cannot be read all the same happens after a return to an
    earlier version, or if it was changed by hand: one field must not stop all tenants.

    Returns:
        The overrides, and a warning for each field that cannot be read: that one inherits.
    """
    try:
        return read_overrides(policy), {}
    except ConfigError:
        own, wrong = Overrides(), dict[str, str]()
    for name, value in policy.items():
        try:
            own = over(own, read_overrides({name: value}))
        except ConfigError as error:
            wrong[name] = f"policy: {error} The default is inherited."
    return own, wrong


_NAMES = tuple(each.name for each in fields(Overrides))


def over(first: Overrides, second: Overrides | None) -> Overrides:
    """Field by field the first that says something."""
    if second is None:
        return first
    own = {name: getattr(first, name) for name in _NAMES}
    inherited = {name: getattr(second, name) for name, value in own.items() if value is None}
    return Overrides(**{**own, **inherited})


class KeyStatus(StrEnum):
    """Whether a key is taken."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """What is stored of a key: never the key.

    Attributes:
        id: What logs and events call it: the first 12 hexadecimal digits of its hash.
        sha256: Its hash.
        tenant: Whose requests come with it; ``None`` of an admin key.
        role: What its owner may do on the admin plane; ``None`` of a tenant's key.
        name: For people to read.
        created_at: When it was made; ``None`` of one that stands in the configuration.
        expires_at: From when on it is not taken; ``None``: always.
        revoked_at: When it was revoked.
        last_used_at: When it was used last, to half a minute.
        is_configured: Whether it stands in the configuration, and is removed there.
    """

    id: str
    sha256: str = field(repr=False)
    tenant: str | None = None
    role: Role | None = None
    name: str | None = None
    created_at: datetime | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    is_configured: bool = False

    def status(self, now: datetime) -> KeyStatus:
        """Whether it is taken at a moment."""
        if self.revoked_at is not None:
            return KeyStatus.REVOKED  # at once, whatever the clocks say
        if self.expires_at is not None and self.expires_at <= now:
            return KeyStatus.EXPIRED
        return KeyStatus.ACTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was just made.

    Attributes:
        record: What is stored of it.
        secret: The key: it is shown once and kept nowhere.
        tenants: Its tenant, if that stood in the configuration alone and is stored with it.
    """

    record: KeyRecord
    secret: str = field(repr=False)
    tenants: "tuple[Changed, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """What a change changed, and nothing else: ``name``, and of ``metadata`` and ``policy`` keys.

    A key that stands on one side only was added, or removed.
    """

    before: Mapping[str, Any] = field(default_factory=lambda: FrozenMapping({}))
    after: Mapping[str, Any] = field(default_factory=lambda: FrozenMapping({}))

    @classmethod
    def between(cls, before: TenantRecord | None, after: TenantRecord | None) -> "Diff":
        """What differs between two; ``None`` stands for no tenant."""
        old, new = _parts(before), _parts(after)
        return cls(before=FrozenMapping(_other(old, new)), after=FrozenMapping(_other(new, old)))

    def __bool__(self) -> bool:
        return bool(self.before or self.after)

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return {"before": dict(self.before), "after": dict(self.after)}


def _parts(record: TenantRecord | None) -> dict[str, Any]:
    if record is None:
        return {}
    name = {} if record.name is None else {"name": record.name}
    return {**name, "metadata": dict(record.metadata), "policy": dict(record.policy)}


def _other(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What one has that the other has not, or has otherwise."""
    found: dict[str, Any] = {}
    for key, value in one.items():
        if isinstance(value, dict):
            value = _other(value, other.get(key, {}))
            if value:
                found[key] = value
        elif key not in other or other[key] != value:
            found[key] = value
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What became of a change.

    Attributes:
        record: The tenant as it is now.
        diff: What changed; empty if nothing did.
        is_new: Whether it was not stored before.
    """

    record: TenantRecord
    diff: Diff
    is_new: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """What was deleted: a tenant, and the keys that went with it."""

    record: TenantRecord
    keys: tuple[KeyRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked:
    """A key that is revoked, and whether it was not before."""

    record: KeyRecord
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSnapshot:
    """All tenants and keys that are stored, by id, at one moment.

    ``revision`` counts their changes.
    """

    revision: int
    tenants: Mapping[str, TenantRecord] = field(default_factory=lambda: FrozenMapping({}))
    keys: Mapping[str, KeyRecord] = field(default_factory=lambda: FrozenMapping({}))
