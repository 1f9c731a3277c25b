"""The problems that errors of the control plane are to clients of the admin plane."""

from collections.abc import Mapping

from groundwire.control.audit.cursor import InvalidCursorError
from groundwire.control.audit.filters import InvalidFilterError
from groundwire.control.store import StoreError
from groundwire.control.tenants.errors import (
    ConfiguredError,
    InvalidKeyError,
    InvalidTenantError,
    LastAdminKeyError,
    TenantExistsError,
    UnknownKeyError,
    UnknownTenantError,
    VersionMismatchError,
)
from groundwire.errors import ConfigError
from groundwire.gateway.control import store_unavailable
from groundwire.gateway.http.problems import INVALID_REQUEST, NOT_FOUND, Problem, as_problem

#: Error → status and code.
_TABLE: Mapping[type[BaseException], tuple[int, str]] = {
    InvalidTenantError: (422, "invalid_tenant"),
    InvalidKeyError: (422, "invalid_key"),
    UnknownTenantError: (404, "unknown_tenant"),
    TenantExistsError: (409, "tenant_exists"),
    ConfiguredError: (409, "configured"),
    LastAdminKeyError: (409, "last_admin_key"),
    VersionMismatchError: (412, "version_mismatch"),
    InvalidCursorError: (400, "invalid_cursor"),
    InvalidFilterError: (422, "invalid_filter"),
    ConfigError: (422, "invalid_policy"),
}


def admin_problem(error: BaseException) -> Problem:
    """Return the problem that an error is."""
    if isinstance(error, StoreError):
        return store_unavailable(error)
    if isinstance(error, UnknownKeyError):
        # The message does not repeat the id: somebody may have sent a key in its place.
        return Problem(
            status=404,
            type=NOT_FOUND,
            code="unknown_key",
            message="There is no key of this id here.",
            next_step="The list of keys has their ids; a key of another tenant is not among them.",
        )
    for type_, (status, code) in _TABLE.items():
        if isinstance(error, type_):
            is_stored = isinstance(error, VersionMismatchError) and error.found
            return Problem(
                status=status,
                type=NOT_FOUND if status == 404 else INVALID_REQUEST,
                code=code,
                message=str(error),
                param=_param(error),
                headers={"ETag": f'"{is_stored}"'} if is_stored else {},
            )
    return as_problem(error)


def _param(error: BaseException) -> str | None:
    """Return the name of the field that an error is about."""
    if isinstance(error, InvalidTenantError | InvalidKeyError | InvalidFilterError):
        return error.field
    if isinstance(error, ConfigError):
        first = error.problems[0]
        return first.partition(" = ")[0] if " = " in first[:64] else _quoted(first)
    return "cursor" if isinstance(error, InvalidCursorError) else None


def _quoted(text: str) -> str | None:
    """Return the first word between quotation marks.

    >>> _quoted("there is no field 'acton'; did you mean 'action'?")
    'acton'
    """
    parts = text.split("'", 2)
    return parts[1] if len(parts) == 3 else None
