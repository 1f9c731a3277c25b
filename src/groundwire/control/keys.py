"""The API keys of tenants and of the admin plane; the database has only hashes of the keys.

A key that Groundwire makes has 32 random bytes, so nobody can guess the key from its SHA-256.
"""

import re
import secrets
from dataclasses import dataclass
from enum import StrEnum

#: The first characters of a tenant's key that Groundwire made. A configured key may begin with
#: other characters.
PREFIX = "gw_"
#: The first characters of an admin key that Groundwire made.
ADMIN_PREFIX = "gwa_"

#: Matches a key that Groundwire made, anywhere in a text except right after a letter or digit. The
#: key may be cut: 20 of the 43 characters after the prefix are enough.
_MADE_HERE = re.compile(r"(?<![A-Za-z0-9])(gwa?_)[A-Za-z0-9_-]{20,}")


@dataclass(frozen=True, slots=True)
class Key:
    """An API key of a tenant.

    Attributes:
        tenant: The id of the tenant whose requests come with the key.
        key_id: The id of the key in logs and events.
    """

    tenant: str
    key_id: str


class Role(StrEnum):
    """The role of an admin key: what its owner may do on the admin plane."""

    ADMIN = "admin"  # may read and change everything
    AUDITOR = "auditor"  # may read everything, but change nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminKey:
    """An API key of the admin plane.

    Attributes:
        key_id: The id of the key in logs and events.
        role: The role, which says what the owner may do.
        name: A name for people to read, or ``None``.
    """

    key_id: str
    role: Role
    name: str | None = None


def is_made_here(key: bytes) -> bool:
    """Return whether a text begins like a key that Groundwire makes."""
    return key.startswith((PREFIX.encode(), ADMIN_PREFIX.encode()))


def holds_key(text: str) -> bool:
    """Return whether a text contains something like a key that Groundwire made."""
    return _MADE_HERE.search(text) is not None


def hide_keys(text: str) -> str:
    """Return a text in which ``gw_***`` or ``gwa_***`` replaces keys that Groundwire made."""
    return _MADE_HERE.sub(r"\1***", text)


def new_key(prefix: str = PREFIX) -> str:
    """Make a key: the prefix, then 32 random bytes as text."""
    return f"{prefix}{secrets.token_urlsafe(32)}"
