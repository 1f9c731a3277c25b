"""Turns errors of the control plane into problems, the HTTP errors that clients get."""

from collections.abc import Mapping

from groundwire.control.accounts import InvalidAccountError, UnknownAccountError
from groundwire.control.audit.cursor import InvalidCursorError
from groundwire.control.store import StoreError
from groundwire.control.tenants import errors
from groundwire.errors import ConfigError
from groundwire.gateway.control import store_unavailable
from groundwire.gateway.http.problems import Problem, as_problem

#: Class of an error → the HTTP status and the error code that clients get.
_TABLE: Mapping[type[BaseException], tuple[int, str]] = {
    InvalidAccountError: (422, "invalid_account"),
    UnknownAccountError: (404, "unknown_account"),
    errors.InvalidTenantError: (422, "invalid_tenant"),
    errors.InvalidKeyError: (422, "invalid_key"),
    errors.UnknownTenantError: (404, "unknown_tenant"),
    errors.UnknownKeyError: (404, "unknown_key"),
    errors.TenantExistsError: (409, "tenant_exists"),
    errors.ConfiguredError: (409, "configured"),
    errors.VersionMismatchError: (412, "version_mismatch"),
    InvalidCursorError: (400, "invalid_cursor"),
    ConfigError: (422, "invalid_policy"),
}


def admin_problem(error: BaseException) -> Problem:
    """Return the HTTP error that a client of the admin plane gets for an error."""
    if isinstance(error, StoreError):
        return store_unavailable(error)
    for type_, (status, code) in _TABLE.items():
        if isinstance(error, type_):
            version = error.found if isinstance(error, errors.VersionMismatchError) else 0
            headers = {"ETag": f'"{version}"'} if version else {}
            return Problem(status, code, message=str(error), param=_param(error), headers=headers)
    return as_problem(error)


def _param(error: BaseException) -> str | None:
    """Return the name of the field that an error is about; ``None`` if the error names no field.

    For a ConfigError, the name is read from the first problem. If `` = `` is among the first 64
    characters of the problem, the text before `` = `` is the name. Otherwise, the first quoted text
    is the name.
    """
    if isinstance(error, ConfigError):
        first = error.problems[0]
        return first.partition(" = ")[0] if " = " in first[:64] else _quoted(first)
    return getattr(error, "field", None)


def _quoted(text: str) -> str | None:
    """Return the first text between single quotation marks; ``None`` if there is none.

    >>> _quoted("there is no field 'acton'; did you mean 'action'?")
    'acton'
    """
    parts = text.split("'", 2)
    return parts[1] if len(parts) == 3 else None
