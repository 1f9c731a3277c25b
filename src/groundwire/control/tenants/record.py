"""Defines tenants and keys, and the results of changing them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from groundwire.config import overrides_from_metadata, read_overrides
from groundwire.control.keys import Role
from groundwire.control.store.moments import now
from groundwire.detection.values import FrozenMapping
from groundwire.errors import ConfigError
from groundwire.policy.policy import Overrides

#: The version that a tenant must have for a change to be made. 0: the tenant must not be stored
#: yet; ``"*"``: the tenant must be stored, in any version.
IfVersion: TypeAlias = int | Literal["*"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRecord:
    """A tenant, stored or configured.

    A tenant that is only in the configuration has neither ``created_at`` nor ``updated_at``.

    Attributes:
        id: The id of the tenant, which never changes.
        name: A name for people to read, or ``None``.
        metadata: Texts by key. Keys of DVARA (another gateway), such as ``grounding.action``, are
            settings; if the value of such a key is not valid, it is kept but has no effect.
        policy: Groundwire's policy: fields of :class:`Overrides` as JSON values.
        version: A number that grows with each change, even if the tenant is deleted and made again.
            0 if the tenant is in the configuration alone.
        is_configured: Whether the tenant is in the configuration. A setting that the configuration
            gives the tenant holds only if neither policy nor metadata has a value for this setting.
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
        """The tenant's stored settings; the policy takes precedence over the metadata."""
        return over(read_stored_policy(self.policy)[0], overrides_from_metadata(self.metadata)[0])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about stored settings that are ignored because they are not valid."""
        wrong = read_stored_policy(self.policy)[1]
        return (*wrong.values(), *overrides_from_metadata(self.metadata)[1])


def read_stored_policy(policy: Mapping[str, Any]) -> tuple[Overrides, Mapping[str, str]]:
    """Read a stored policy as overrides; leave out each field that is not valid.

    No error is raised, so that one invalid field does not keep all tenants from being read.

    Returns:
        The overrides, and a warning for each field that is not valid (any more). Such a field is
        unset, so its value is inherited.
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
    """Join overrides: each field has the value of ``first`` or, if that is unset, of ``second``."""
    if second is None:
        return first
    unset = [name for name in _NAMES if getattr(first, name) is None]
    return replace(first, **{name: getattr(second, name) for name in unset})


class KeyStatus(StrEnum):
    """The status of a key: only an active key is valid."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """The values of a key, stored or configured: the hash of the key, but never the key itself.

    A configured key has no ``created_at`` or other moment, and can only be removed in the
    configuration.

    Attributes:
        sha256: The hash of the key: 64 hexadecimal digits.
        tenant: The tenant whose requests come with the key; ``None`` for an admin key.
        role: The role of an admin key; ``None`` for a tenant's key.
        name: A name for people to read, or ``None``.
        expires_at: The moment when the key stops being valid; ``None``: it does not expire.
        revoked_at: The moment when the key was revoked; ``None`` if it was not.
        last_used_at: The moment when the key was used last, or ``None``; recent uses may be
            missing.
    """

    sha256: str = field(default="", repr=False)
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
        """Id of the key in lists, logs and events: the first 12 hexadecimal digits of the hash."""
        return self.sha256[:12]

    @property
    def status(self) -> KeyStatus:
        """The status of the key now."""
        return self.status_at(now())

    def status_at(self, moment: datetime) -> KeyStatus:
        """Return the status of the key at a moment."""
        if self.revoked_at is not None:
            # ``revoked_at`` is not compared with ``moment``, since clocks of processes may differ.
            return KeyStatus.REVOKED
        if self.expires_at is not None and self.expires_at <= moment:
            return KeyStatus.EXPIRED
        return KeyStatus.ACTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was just made.

    Attributes:
        record: The stored values of the key.
        secret: The key itself, which is shown once and not stored.
        tenants: The change that stored the key's tenant; empty if there was no such change.
    """

    record: KeyRecord
    secret: str = field(repr=False)
    tenants: "tuple[Changed, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStart:
    """The keys that the start of a gateway has made, to be shown once.

    Attributes:
        tenant_key: A key of the tenant ``default``; ``None`` if none was made.
        admin_key: A key with the role admin, made because there was no valid one; ``None`` if none
            was made.
    """

    tenant_key: NewKey | None = None
    admin_key: NewKey | None = None

    @property
    def keys(self) -> tuple[NewKey, ...]:
        """All keys that were made."""
        return tuple(each for each in (self.tenant_key, self.admin_key) if each is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """The result of changing a tenant.

    Attributes:
        before: The tenant as it was stored before; ``None`` if it was not stored.
        record: The tenant as it is stored now.
    """

    before: TenantRecord | None
    record: TenantRecord

    @property
    def is_new(self) -> bool:
        """Whether the tenant was not stored before."""
        return self.before is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """A tenant that was deleted, and the keys that were deleted with it."""

    record: TenantRecord
    keys: tuple[KeyRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked:
    """A revoked key (``record``), and whether it was not revoked before (``is_new``)."""

    record: KeyRecord
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSnapshot:
    """All stored tenants, by id, and all stored keys at one moment.

    ``revision`` is the number of changes of tenants and keys up to that moment; -1 if nothing was
    read yet.
    """

    revision: int
    tenants: Mapping[str, TenantRecord] = field(default_factory=dict)
    keys: tuple[KeyRecord, ...] = ()
