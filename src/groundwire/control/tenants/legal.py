"""Validates the values of tenants and keys before they are stored."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from math import inf
from typing import Any

from groundwire.config import read_overrides
from groundwire.config.kinds import written
from groundwire.config.tenants import KINDS
from groundwire.control.tenants.errors import InvalidKeyError, InvalidTenantError, shown

MAX_NAME_CHARS = 200
MAX_METADATA_KEYS = 100
MAX_METADATA_KEY_CHARS = 128
MAX_METADATA_VALUE_CHARS = 1024

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}")
_ID_LEGAL = "1 to 128 letters, digits and any of . _ : @ -, and a letter or digit first"

#: Matches the id of a key: 12 hexadecimal digits.
KEY_ID = re.compile(r"[0-9a-f]{12}")

#: Matches a character that not every database can store: NUL, or a lone surrogate.
_NOT_KEPT = re.compile("[\0\ud800-\udfff]")


def is_id(raw: str) -> bool:
    """Return whether a text is a valid id of a stored tenant.

    Tenants in the configuration may have ids of other forms.
    """
    return _ID.fullmatch(raw) is not None


def read_id(raw: object) -> str:
    """Validate the id of a tenant, and return it.

    Raises:
        InvalidTenantError: If the id is not valid.
    """
    if not isinstance(raw, str) or not _ID.fullmatch(raw):
        raise InvalidTenantError("id", f"{_shown(raw)} is not possible; it must be {_ID_LEGAL}")
    return raw


def read_name(raw: object) -> str | None:
    """Validate a name for people to read, and return it stripped; a blank text becomes ``None``.

    Raises:
        InvalidTenantError: If the name is not valid.
    """
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return None
    if not isinstance(raw, str) or len(raw) > MAX_NAME_CHARS or not raw.isprintable():
        raise InvalidTenantError(
            "name", f"it must be one line of up to {MAX_NAME_CHARS} printable characters, or null"
        )
    return raw.strip()


def read_metadata(raw: Mapping[str, object]) -> dict[str, str | None]:
    """Validate changes of metadata, and turn their values into texts; ``None`` removes a key.

    Raises:
        InvalidTenantError: If there are too many keys, or if a key or value is not valid.
    """
    if len(raw) > MAX_METADATA_KEYS:
        raise InvalidTenantError(
            "metadata", f"it has {len(raw):,} keys and may have {MAX_METADATA_KEYS}"
        )
    return {_metadata_key(key): _metadata_value(key, value) for key, value in raw.items()}


def merge_metadata(before: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """Merge changes into metadata; ``None`` removes a key.

    Raises:
        InvalidTenantError: If the merged metadata has too many keys.
    """
    kept = merge(before, changes)
    if len(kept) > MAX_METADATA_KEYS:
        raise InvalidTenantError(
            "metadata", f"it would have {len(kept):,} keys and may have {MAX_METADATA_KEYS}"
        )
    return kept


def read_policy(raw: Mapping[str, object]) -> dict[str, Any]:
    """Validate a policy, and return it as JSON values; ``None`` unsets a field.

    Raises:
        ConfigError: If a field or a value is not valid; the message says what is valid.
        InvalidTenantError: If the policy has far too many fields, or a field's name is too long.
    """
    if len(raw) > 2 * len(KINDS) or any(len(str(name)) > MAX_METADATA_KEY_CHARS for name in raw):
        raise InvalidTenantError(
            "policy", f"it is too long to be meant; its fields are {', '.join(KINDS)}"
        )
    given = {name: value for name, value in raw.items() if value is not None or name not in KINDS}
    own = read_overrides(given)
    return {name: written(getattr(own, name)) if name in given else None for name in raw}


def merge(before: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge changes into a policy or metadata; ``None`` unsets a field."""
    return {name: value for name, value in {**before, **changes}.items() if value is not None}


def read_expiry(raw: datetime | None, *, now: datetime) -> datetime | None:
    """Validate the moment when a key expires, and return it in UTC; ``None``: never.

    Raises:
        InvalidKeyError: If the moment is past, has no time zone or cannot be stored.
    """
    if raw is None:
        return None
    if raw.tzinfo is None:
        raise InvalidKeyError("expires_at", "it has no time zone; add Z, or an offset")
    try:
        moment = raw.astimezone(UTC)
    except OverflowError:
        raise InvalidKeyError("expires_at", "it is no date that can be kept") from None
    if moment <= now:
        raise InvalidKeyError("expires_at", f"it is past: it is {now:%Y-%m-%dT%H:%M:%SZ} now")
    return moment


def _metadata_key(key: object) -> str:
    if isinstance(key, str) and 0 < len(key) <= MAX_METADATA_KEY_CHARS and key.isprintable():
        return key
    raise InvalidTenantError(
        "metadata",
        f"the key {_shown(key)} must be a text of 1 to {MAX_METADATA_KEY_CHARS} printable "
        "characters",
    )


def _metadata_value(key: str, value: object) -> str | None:
    """Turn a value of metadata into a text; numbers, true and false are written as in JSON.

    ``None`` stays ``None``.

    Raises:
        InvalidTenantError: If the value is not valid.
    """
    if value is None:
        return None
    limit = 2**63 if isinstance(value, int) else inf
    if isinstance(value, int | float) and abs(value) < limit:
        return json.dumps(value)
    if not isinstance(value, str):
        raise InvalidTenantError(
            "metadata",
            f"the value of {shown(key)} must be a text, a number, true, false, or null, which "
            "removes the key; lists and objects are not kept",
        )
    if len(value) > MAX_METADATA_VALUE_CHARS:
        raise InvalidTenantError(
            "metadata",
            f"the value of {shown(key)} has {len(value):,} characters and may have "
            f"{MAX_METADATA_VALUE_CHARS:,}",
        )
    if _NOT_KEPT.search(value):
        raise InvalidTenantError(f"metadata[{shown(key)}]", "it has NUL, or half a surrogate pair")
    return value


def _shown(raw: object) -> str:
    return shown(raw) if isinstance(raw, str) else f"a value of type {type(raw).__name__}"
