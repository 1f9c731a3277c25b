"""Tenants and keys as the store holds them, and the results of changing them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from groundwire.config import overrides_from_metadata, read_overrides
from groundwire.control.keys import Role
from groundwire.control.store.moments import now
from groundwire.detection.values import FrozenMapping
from groundwire.errors import ConfigError
from groundwire.policy.policy import Overrides

#: The version that a tenant must have for a change to be made; ``"*"``: any, but it must be stored.
IfVersion: TypeAlias = int | Literal["*"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRecord:
    """A tenant, stored or configured.

    Attributes:
        id: Its id, which never changes.
        name: A name for people to read.
        metadata: DVARA's metadata: texts, kept as they came, even where they are not valid.
        policy: Our policy: fields of :class:`Overrides` as JSON values.
        created_at: When it was stored first; ``None``: it is in the configuration alone.
        updated_at: When it was changed last.
        version: It grows with each change. A tenant that was deleted and made again begins above
            all earlier versions. 0: it is in the configuration alone.
        is_configured: Whether the configuration has something of it, which counts where neither
            policy nor metadata says otherwise.
    """

    id: str
    name: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int = 0
    is_configured: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", FrozenMapping(self.metadata))
        object.__setattr__(self, "policy", FrozenMapping(self.policy))

    @property
    def overrides(self) -> Overrides:
        """The stored settings of the tenant: those of its policy, else those of its metadata."""
        return over(read_stored_policy(self.policy)[0], overrides_from_metadata(self.metadata)[0])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Values of it that are not valid; the default holds in their place."""
        wrong = read_stored_policy(self.policy)[1]
        return (*wrong.values(), *overrides_from_metadata(self.metadata)[1])


def read_stored_policy(policy: Mapping[str, Any]) -> tuple[Overrides, Mapping[str, str]]:
    """Read a stored policy as overrides; it never raises.

    The policy was valid when it came. It may not be any more after a return to an earlier version,
    or if somebody changed it by hand: one field must not stop all tenants.

    Returns:
        The overrides, and by field a warning about each value that is not valid: it is inherited.
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
    """Join overrides field by field: the first value that is set counts."""
    if second is None:
        return first
    own = {name: getattr(first, name) for name in _NAMES}
    inherited = {name: getattr(second, name) for name, value in own.items() if value is None}
    return Overrides(**{**own, **inherited})


class KeyStatus(StrEnum):
    """Whether a key is valid."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """A key, stored or configured: its hash, never the key itself.

    Attributes:
        sha256: Its hash.
        tenant: The tenant whose requests come with it; ``None`` for an admin key.
        role: The role of an admin key; ``None`` for a tenant's key.
        name: A name for people to read.
        created_at: When it was made; ``None`` for a configured key.
        expires_at: It is not valid from then on; ``None``: it does not expire.
        revoked_at: When it was revoked.
        last_used_at: When it was used last, to half a minute.
        is_configured: Whether it is in the configuration, and is removed there.
    """

    sha256: str = field(repr=False)
    tenant: str | None = None
    role: Role | None = None
    name: str | None = None
    created_at: datetime | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    is_configured: bool = False

    @property
    def id(self) -> str:
        """The id in lists, logs and events: the first 12 hexadecimal digits of the hash."""
        return self.sha256[:12]

    @property
    def status(self) -> KeyStatus:
        """Whether it is valid now."""
        return self.status_at(now())

    def status_at(self, moment: datetime) -> KeyStatus:
        """Return whether it is valid at a moment."""
        if self.revoked_at is not None:
            return KeyStatus.REVOKED  # a revoked key is invalid even if clocks differ
        if self.expires_at is not None and self.expires_at <= moment:
            return KeyStatus.EXPIRED
        return KeyStatus.ACTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was just made.

    Attributes:
        record: What is stored of it.
        secret: The key itself, which is shown once and not stored.
        tenants: Its tenant, if that was only configured so far and is stored with it.
    """

    record: KeyRecord
    secret: str = field(repr=False)
    tenants: "tuple[Changed, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """The result of changing a tenant.

    Attributes:
        before: The tenant as it was stored before; ``None``: it is new.
        record: The tenant as it is now.
    """

    before: TenantRecord | None
    record: TenantRecord

    @property
    def is_new(self) -> bool:
        """Whether it was not stored before."""
        return self.before is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """A tenant that was deleted, and the keys that were deleted with it."""

    record: TenantRecord
    keys: tuple[KeyRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked:
    """A key that is revoked, and whether it was not revoked before."""

    record: KeyRecord
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSnapshot:
    """All stored tenants, by id, and all stored keys at one moment.

    ``revision`` counts their changes.
    """

    revision: int
    tenants: Mapping[str, TenantRecord] = field(default_factory=dict)
    keys: tuple[KeyRecord, ...] = ()
