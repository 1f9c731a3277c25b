"""What clients of the admin plane are told of errors of the control plane."""

from collections.abc import Callable, Mapping
from typing import Any

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


def admin_problem(error: BaseException) -> Problem:
    """The problem that an error is."""
    for type_, tell in _TABLE.items():
        if isinstance(error, type_):
            return tell(error)
    return as_problem(error)


def _invalid(code: str) -> Callable[[Any], Problem]:
    def tell(error: InvalidTenantError | InvalidKeyError | InvalidFilterError) -> Problem:
        return _told(422, code, error, param=error.field)

    return tell


def _invalid_policy(error: ConfigError) -> Problem:
    """The field stands first in what is said of it."""
    first = error.problems[0]
    field = first.partition(" = ")[0] if " = " in first[:64] else _quoted(first)
    return _told(422, "invalid_policy", error, param=field)


def _quoted(text: str) -> str | None:
    """The first word between quotation marks.

    >>> _quoted("there is no field 'acton'; did you mean 'action'?")
    'acton'
    """
    parts = text.split("'", 2)
    return parts[1] if len(parts) == 3 else None


def _unknown(code: str) -> Callable[[Any], Problem]:
    return lambda error: _told(404, code, error, type=NOT_FOUND)


def _unknown_key(_: UnknownKeyError) -> Problem:
    # What was sent as an id may be a key.
    return Problem(
        status=404,
        type=NOT_FOUND,
        code="unknown_key",
        message="There is no key of this id here.",
        next_step="The list of keys has their ids; a key of another tenant is not among them.",
    )


def _conflict(code: str) -> Callable[[Any], Problem]:
    return lambda error: _told(409, code, error)


def _other_version(error: VersionMismatchError) -> Problem:
    return _told(
        412, "version_mismatch", error, headers={"ETag": f'"{error.found}"'} if error.found else {}
    )


def _invalid_cursor(error: InvalidCursorError) -> Problem:
    return _told(400, "invalid_cursor", error, param="cursor")


def _told(
    status: int,
    code: str,
    error: Exception,
    *,
    type: str = INVALID_REQUEST,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Problem:
    return Problem(
        status=status,
        type=type,
        code=code,
        message=str(error),
        param=param,
        headers=headers or {},
    )


_TABLE: Mapping[type[BaseException], Callable[[Any], Problem]] = {
    StoreError: store_unavailable,
    InvalidTenantError: _invalid("invalid_tenant"),
    InvalidKeyError: _invalid("invalid_key"),
    UnknownTenantError: _unknown("unknown_tenant"),
    UnknownKeyError: _unknown_key,
    TenantExistsError: _conflict("tenant_exists"),
    ConfiguredError: _conflict("configured"),
    LastAdminKeyError: _conflict("last_admin_key"),
    VersionMismatchError: _other_version,
    InvalidCursorError: _invalid_cursor,
    InvalidFilterError: _invalid("invalid_filter"),
    ConfigError: _invalid_policy,
}
