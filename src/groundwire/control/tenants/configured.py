"""Reads tenants and keys from the configuration; they are used together with the stored ones."""

from dataclasses import dataclass, field
from typing import Self

from groundwire.config import Config
from groundwire.config.keys import hash_of
from groundwire.control.keys import Role
from groundwire.control.tenants.record import KeyRecord
from groundwire.detection.values import FrozenMapping
from groundwire.errors import ConfigError
from groundwire.policy.policy import Overrides

#: The name of the configured admin key.
_ADMIN = "admin.api_key"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredTenants:
    """The tenants and keys in a configuration, which cannot be changed at run time.

    Attributes:
        tenants: Id of a tenant → its own settings.
        keys: The keys of tenants, and the admin key if there is one.
    """

    tenants: FrozenMapping[str, Overrides] = field(default_factory=lambda: FrozenMapping({}))
    keys: tuple[KeyRecord, ...] = ()

    @classmethod
    def of(cls, config: Config) -> Self:
        """Read a configuration.

        Raises:
            ConfigError: If the admin key is also the key of a tenant, whose clients would then have
                all rights.
        """
        keys = [
            KeyRecord(sha256=hash_of(secret), tenant=tenant, is_configured=True)
            for tenant, own in config.keys.items()
            for secret in own
        ]
        # Tenants that have keys but no settings of their own must be listed, too.
        own = {key.tenant: Overrides() for key in keys if key.tenant is not None}
        if config.admin.api_key is not None:
            digest = hash_of(config.admin.api_key)
            if owner := next((key.tenant for key in keys if key.sha256 == digest), None):
                where = config.origins.get(_ADMIN, _ADMIN)
                raise ConfigError(
                    [f"{where}: admin.api_key is also a key of tenant {owner!r}. Use another."]
                )
            keys.append(KeyRecord(sha256=digest, role=Role.ADMIN, name=_ADMIN, is_configured=True))
        return cls(tenants=FrozenMapping(own | dict(config.tenants)), keys=tuple(keys))

    def keys_of(self, tenant: str | None) -> tuple[KeyRecord, ...]:
        """Return the keys of a tenant; if ``tenant`` is ``None``, the keys of the admin plane."""
        return tuple(key for key in self.keys if key.tenant == tenant)
