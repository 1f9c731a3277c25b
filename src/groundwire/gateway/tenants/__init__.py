"""Tenants and their keys: stored, known to every process, in effect at once.

``record`` has the values, ``legal`` what they may be; ``registry`` reads and changes them in the
database, ``directory`` is what requests ask, ``watching`` keeps it as the database is;
``configured`` is what stands in the configuration beside it, ``effective`` tells what holds, and
``first_start`` makes the first keys.
"""

from groundwire.gateway.tenants.configured import Configured
from groundwire.gateway.tenants.directory import Directory
from groundwire.gateway.tenants.errors import (
    ConfiguredError,
    InvalidKeyError,
    InvalidTenantError,
    TenantError,
    TenantExistsError,
    UnknownKeyError,
    UnknownTenantError,
    VersionMismatchError,
)
from groundwire.gateway.tenants.record import (
    Changed,
    Deleted,
    Diff,
    KeyRecord,
    KeyStatus,
    NewKey,
    Role,
    Snapshot,
    TenantRecord,
)
from groundwire.gateway.tenants.registry import Registry

__all__ = [
    "Changed",
    "Configured",
    "ConfiguredError",
    "Deleted",
    "Diff",
    "Directory",
    "InvalidKeyError",
    "InvalidTenantError",
    "KeyRecord",
    "KeyStatus",
    "NewKey",
    "Registry",
    "Role",
    "Snapshot",
    "TenantError",
    "TenantExistsError",
    "TenantRecord",
    "UnknownKeyError",
    "UnknownTenantError",
    "VersionMismatchError",
]
