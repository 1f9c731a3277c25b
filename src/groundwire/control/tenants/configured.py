"""What the configuration says of tenants and keys. It holds beside the store, until the end."""

from dataclasses import dataclass, field
from typing import Self

from groundwire.config import Config
from groundwire.config.keys import hash_of
from groundwire.control.keys import AdminKey, Key, Keyring, Role
from groundwire.control.tenants.record import KeyRecord
from groundwire.detection.values import FrozenMapping
from groundwire.errors import ConfigError
from groundwire.policy.policy import Overrides

#: What the configured admin key is called.
_ADMIN = "admin.api_key"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredTenants:
    """The part of a configuration that is about tenants and keys.

    Attributes:
        tenants: What tenants have of their own, by id.
        keys: The keys of their requests.
        admin: The admin key, with its hash.
    """

    tenants: FrozenMapping[str, Overrides] = field(default_factory=lambda: FrozenMapping({}))
    keys: tuple[Key, ...] = ()
    admin: tuple[AdminKey, str] | None = None

    @classmethod
    def of(cls, config: Config) -> Self:
        """The part of a configuration.

        Raises:
            ConfigError: If the admin key is also a tenant's: its clients could do anything.
        """
        keys, admin = Keyring.of(config).keys, None
        if config.admin.api_key is not None:
            digest = hash_of(config.admin.api_key)
            if owner := next((key.tenant for key in keys if key.sha256 == digest), None):
                where = config.origins.get(_ADMIN, _ADMIN)
                raise ConfigError(
                    [f"{where}: admin.api_key is also a key of tenant {owner!r}. Use another."]
                )
            admin = AdminKey(key_id=digest[:12], role=Role.ADMIN, name=_ADMIN), digest
        # A tenant that has a key and nothing else of its own is one all the same.
        tenants = {key.tenant: Overrides() for key in keys} | dict(config.tenants)
        return cls(tenants=FrozenMapping(tenants), keys=keys, admin=admin)

    def tenant_keys(self, tenant: str) -> tuple[KeyRecord, ...]:
        """The keys of a tenant, to be read only."""
        return tuple(
            KeyRecord(id=key.key_id, sha256=key.sha256, tenant=tenant, is_configured=True)
            for key in self.keys
            if key.tenant == tenant
        )

    def admin_keys(self) -> tuple[KeyRecord, ...]:
        """The admin key, to be read only."""
        if self.admin is None:
            return ()
        key, digest = self.admin
        return (
            KeyRecord(
                id=key.key_id, sha256=digest, role=key.role, name=key.name, is_configured=True
            ),
        )
