"""Makes the first keys: one for the tenant ``default``, and one for the admin plane."""

from dataclasses import dataclass

from groundwire.config import Config
from groundwire.config.keys import DEFAULT_TENANT
from groundwire.control.tenants.configured import ConfiguredTenants
from groundwire.control.tenants.record import NewKey
from groundwire.control.tenants.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStart:
    """The keys that the start of a gateway has made, to be shown once.

    Attributes:
        tenant_key: The first key of the tenant ``default``; ``None`` if none was made.
        admin_key: The first key with the role admin; ``None`` if none was made.
    """

    tenant_key: NewKey | None = None
    admin_key: NewKey | None = None

    @property
    def keys(self) -> tuple[NewKey, ...]:
        """All keys that were made."""
        return tuple(each for each in (self.tenant_key, self.admin_key) if each is not None)


async def prepare(registry: Registry, config: Config) -> FirstStart:
    """Make a first key for a tenant, and one for the admin plane, unless there are such keys.

    If several processes start at once on one database, only one makes the missing keys.

    Args:
        registry: Reads and makes keys in the database.
        config: The configuration. If it has a key of a tenant, or an admin key, no such key is
            made.

    Raises:
        ConfigError: If the admin key of the configuration is also the key of a tenant.
        StoreError: If the database fails.
    """
    configured = ConfiguredTenants.of(config)
    has_tenant_key = any(key.tenant is not None for key in configured.keys)
    tenant_key, admin_key = await registry.first_keys(
        tenant=None if has_tenant_key else DEFAULT_TENANT,
        needs_admin=config.admin.enabled and not configured.keys_of(None),
    )
    return FirstStart(tenant_key=tenant_key, admin_key=admin_key)
