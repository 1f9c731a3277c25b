"""What the first start makes: a tenant with a key, and a key for the admin plane."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from groundwire.config import Config
from groundwire.config.keys import DEFAULT_TENANT
from groundwire.control.keys import FILE, Key, read_keys
from groundwire.control.tenants.configured import ConfiguredTenants
from groundwire.control.tenants.record import Changed, KeyRecord, NewKey
from groundwire.control.tenants.registry import Registry
from groundwire.control.tenants.stored_keys import Kept

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStart:
    """What a start has made; whoever shows the keys shows them once.

    Attributes:
        tenant_key: The first key of the tenant ``default``.
        admin_key: The first key with the role admin.
        imported: The keys that were taken over from the file of an earlier version.
        tenants: The tenants that were stored for these keys.
    """

    tenant_key: NewKey | None = None
    admin_key: NewKey | None = None
    imported: tuple[KeyRecord, ...] = ()
    tenants: tuple[Changed, ...] = ()

    @property
    def n_imported(self) -> int:
        """How many keys were taken over from the file of an earlier version."""
        return len(self.imported)

    @property
    def keys(self) -> tuple[KeyRecord, ...]:
        """All keys that were stored."""
        made = (self.tenant_key, self.admin_key)
        return (*self.imported, *(each.record for each in made if each is not None))


async def prepare(registry: Registry, config: Config, folder: Path) -> FirstStart:
    """See to it that somebody can use the gateway, and somebody administer it.

    Of several processes that start at once on one database, one makes what is missing.

    Args:
        registry: Where keys are stored.
        config: With a tenant's key, it needs none from here; the same goes for the admin key.
        folder: Where earlier versions kept the key of their first start.

    Raises:
        ConfigError: If the file of an earlier version cannot be read, or the keys of the
            configuration cannot be told apart.
        StoreError: If the database fails.
    """
    configured = ConfiguredTenants.of(config)
    imported = Kept()
    if not configured.keys:
        # With one, the key in the file was not taken, and is not to be from now on.
        imported = await _import(registry, folder / FILE)
    tenant_key, admin_key = await registry.first_keys(
        tenant=None if configured.keys else DEFAULT_TENANT,
        needs_admin=config.admin.enabled and configured.admin is None,
    )
    return FirstStart(
        tenant_key=tenant_key,
        admin_key=admin_key,
        imported=imported.keys,
        tenants=(*imported.tenants, *(() if tenant_key is None else tenant_key.tenants)),
    )


async def _import(registry: Registry, path: Path) -> Kept:
    """Take over the keys of a file, once: what is deleted later must not come back with it."""
    keys: tuple[Key, ...] = read_keys(path) or ()
    if not keys:
        return Kept()
    imported = await registry.import_keys(keys)
    try:
        with suppress(FileNotFoundError):  # another process has done the same
            path.rename(path.with_name(f"{path.name}.imported"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        log.warning("%s was taken over, and is to be removed: %s", path, reason)
    return imported
