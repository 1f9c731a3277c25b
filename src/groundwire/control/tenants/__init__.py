"""Tenants and their keys: stored, known to every process, in effect at once.

``record`` has the values, ``legal`` what they may be, ``configured`` what the configuration has
beside them. ``registry`` and ``stored_keys`` read and change them in the database, by
``transaction`` and ``loading``. ``directory`` is what requests ask, and ``watching`` keeps it as
the database is. ``effective`` says what holds for a tenant, and
why; ``first_start`` makes the first keys.
"""

from groundwire.control.tenants.configured import ConfiguredTenants
from groundwire.control.tenants.directory import Directory
from groundwire.control.tenants.errors import (
    ConfiguredError,
    InvalidKeyError,
    InvalidTenantError,
    LastAdminKeyError,
    TenantError,
    TenantExistsError,
    UnknownKeyError,
    UnknownTenantError,
    VersionMismatchError,
)
from groundwire.control.tenants.first_start import FirstStart, prepare
from groundwire.control.tenants.record import (
    Changed,
    Deleted,
    Diff,
    KeyRecord,
    KeyStatus,
    NewKey,
    Revoked,
    Role,
    TenantRecord,
    TenantSnapshot,
)
from groundwire.control.tenants.registry import Registry
from groundwire.control.tenants.watching import Watcher

__all__ = [
    "Changed",
    "ConfiguredError",
    "ConfiguredTenants",
    "Deleted",
    "Diff",
    "Directory",
    "FirstStart",
    "InvalidKeyError",
    "InvalidTenantError",
    "KeyRecord",
    "KeyStatus",
    "LastAdminKeyError",
    "NewKey",
    "Registry",
    "Revoked",
    "Role",
    "TenantError",
    "TenantExistsError",
    "TenantRecord",
    "TenantSnapshot",
    "UnknownKeyError",
    "UnknownTenantError",
    "VersionMismatchError",
    "Watcher",
    "prepare",
]
