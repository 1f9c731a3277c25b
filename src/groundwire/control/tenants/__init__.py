"""Tenants and their keys: stored, known to every process, in effect at once.

``record`` has the values, ``legal`` says what is valid, ``configured`` reads the configuration.
``registry`` and ``stored_keys`` read and change the database in a ``transaction``. ``directory``
answers requests, and ``watching`` keeps it up to date. ``effective`` says which settings hold for a
tenant and why; ``first_start`` makes the first keys.
"""

from groundwire.control.keys import Role
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
    KeyRecord,
    KeyStatus,
    NewKey,
    Revoked,
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
