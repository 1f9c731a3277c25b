"""Errors about tenants and keys.

::

    TenantError
    ├── InvalidTenantError (ValueError)  a value of a tenant, or the name of a key, is not valid
    ├── InvalidKeyError (ValueError)     a key cannot be made as asked
    ├── UnknownTenantError
    ├── UnknownKeyError
    ├── TenantExistsError
    ├── VersionMismatchError             a tenant does not have the version that is expected
    └── ConfiguredError                  a tenant or key can only be removed in the configuration
"""

from groundwire.errors import GroundwireError


class TenantError(GroundwireError):
    """An operation on tenants or keys is not possible; nothing was changed."""


class _InvalidError(TenantError, ValueError):
    def __init__(self, field: str, problem: str) -> None:
        super().__init__(field, problem)
        self.field, self.problem = field, problem

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}."


class InvalidTenantError(_InvalidError):
    """A value of a tenant, or the name of a key, is not valid; ``field`` says which.

    A wrong field of a policy raises ConfigError instead.
    """


class InvalidKeyError(_InvalidError):
    """A key cannot be made as asked; ``field`` says what is not valid."""


class UnknownTenantError(TenantError):
    """There is no tenant with this id."""

    def __str__(self) -> str:
        return f"There is no tenant {shown(self.args[0])}. Make it, or see the list of tenants."


class UnknownKeyError(TenantError):
    """The tenant, or the admin plane, has no key with this id."""

    def __str__(self) -> str:
        # The message does not repeat the id, since somebody may have given a key in its place.
        return "There is no key of this id here. The list of keys has their ids."


class TenantExistsError(TenantError):
    """There is already a tenant with this id."""

    def __str__(self) -> str:
        own = shown(self.args[0])
        return f"There is a tenant {own} already. Change that one, or take another id."


class VersionMismatchError(TenantError):
    """A change was refused, because the tenant does not have the version that the change expects.

    ``found`` is the version of the tenant, or 0 if it is not stored. ``expected`` is the version
    that the change expects, or ``"*"`` for any version of a stored tenant.
    """

    def __init__(self, tenant: str, expected: int | str, found: int) -> None:
        super().__init__(tenant, expected, found)
        self.tenant, self.expected, self.found = tenant, expected, found

    def __str__(self) -> str:
        found = f"is of version {self.found} by now" if self.found else "is not stored"
        wanted = "one that is" if self.expected == "*" else f"version {self.expected}"
        return (
            f"The tenant {shown(self.tenant)} {found}, and the change was for {wanted}. Read it "
            "again, and decide again."
        )


class ConfiguredError(TenantError):
    """A tenant or key can only be removed in the configuration.

    ``args`` has the word ``tenant`` or ``key``, and the id.
    """

    def __str__(self) -> str:
        what, id_ = self.args
        return (
            f"The {what} {shown(id_)} stands in the configuration. Remove it there, and "
            "start again."
        )


def shown(text: str) -> str:
    """Quote a text for a message, and cut it if it is long."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
