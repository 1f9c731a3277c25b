"""The keys that requests come with: what is kept of them, and who takes them.

Only hashes are kept. A key is 32 random bytes, so its SHA-256 needs neither salt nor stretching.
"""

import hmac
import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, TypeVar

from groundwire.config import Config
from groundwire.config.keys import hash_of, key_hash
from groundwire.errors import ConfigError

#: How keys of tenants begin that we make, and keys of the admin plane. Configured ones may not.
PREFIX = "gw_"
ADMIN_PREFIX = "gwa_"

#: What may be such a key, wherever in a text it stands. One has 43 characters after its prefix.
_MADE_HERE = re.compile(r"(?<![A-Za-z0-9])gwa?_[A-Za-z0-9_-]{20}")

FILE = "keys.json"

_VERSION = 1
_MAX_FILE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Key:
    """What is kept of a key.

    Attributes:
        tenant: Whose requests come with it.
        sha256: Its hash, 64 hexadecimal digits.
    """

    tenant: str
    sha256: str

    @property
    def key_id(self) -> str:
        """What logs and events call it."""
        return self.sha256[:12]


class Role(StrEnum):
    """What the owner of a key may do on the admin plane."""

    ADMIN = "admin"  # everything
    AUDITOR = "auditor"  # read everything, and change nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminKey:
    """A key of the admin plane that was found.

    Attributes:
        key_id: What logs and events call it.
        role: What its owner may do.
        name: For people to read.
    """

    key_id: str
    role: Role
    name: str | None = None


class Keys(Protocol):
    """All keys that are taken."""

    def find(self, key: bytes) -> Key | None:
        """The tenant's key that these bytes are, if it is taken now."""
        ...

    def find_admin(self, key: bytes) -> AdminKey | None:
        """The admin key that these bytes are, if it is taken now."""
        ...

    def is_ours(self, key: bytes) -> bool:
        """Whether it is or was a key of ours, taken or not: such a one is not sent on."""
        ...


def is_made_here(key: bytes) -> bool:
    """Whether it begins like a key that a gateway makes, this one or another."""
    return key.startswith((PREFIX.encode(), ADMIN_PREFIX.encode()))


def holds_key(text: str) -> bool:
    """Whether what may be a key that a gateway made stands anywhere in a text."""
    return _MADE_HERE.search(text) is not None


class Keyring:
    """The keys of a configuration, or of a file: they hold until the end."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self.keys = tuple(keys)
        self._by_hash = {key.sha256: key for key in self.keys}

    @classmethod
    def of(cls, config: Config) -> "Keyring":
        """The keys of a configuration."""
        return cls(
            Key(tenant, hash_of(secret)) for tenant, own in config.keys.items() for secret in own
        )

    def find(self, key: bytes) -> Key | None:
        """Whose key it is. How long this takes does not depend on how much of a key is right."""
        return find_by_hash(self._by_hash, key_hash(key))

    def find_admin(self, key: bytes) -> AdminKey | None:
        """None: there is no admin plane without a store."""
        return None

    def is_ours(self, key: bytes) -> bool:
        """Whether it is a key of ours, or begins like one."""
        return is_made_here(key) or self.find(key) is not None

    @property
    def tenants(self) -> tuple[str, ...]:
        """Who has a key, each once."""
        return tuple(dict.fromkeys(key.tenant for key in self.keys))


class Hashed(Protocol):
    """Something that is kept under the hash of a key."""

    @property
    def sha256(self) -> str:
        """The hash, 64 hexadecimal digits."""
        ...


_Hashed = TypeVar("_Hashed", bound=Hashed)


def find_by_hash(known: Mapping[str, _Hashed], digest: str) -> _Hashed | None:
    """What is known under the hash of a key, in a time that tells nothing about other keys.

    A lookup may take longer the more digits of a hash are right. That is safe: whoever sends keys
    cannot choose their hashes, not even the first digits, but by trying keys; and of a key, its
    hash tells nothing. The comparison after it takes the same time for any two hashes.
    """
    found = known.get(digest)
    if found is None or not hmac.compare_digest(found.sha256, digest):
        return None
    return found


def new_key(prefix: str = PREFIX) -> str:
    """A key that nobody can guess: 32 random bytes."""
    return f"{prefix}{secrets.token_urlsafe(32)}"


def read_keys(path: Path) -> tuple[Key, ...] | None:
    """The keys of a file; ``None`` if there is none.

    Raises:
        ConfigError: If it cannot be read: then nobody would be let in, or the wrong ones.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_FILE_BYTES)
        keys = _keys(json.loads(text))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error.strerror or type(error).__name__) from error
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise _unreadable(path, "it is not as the gateway writes it") from error
    return keys


def _keys(data: Any) -> tuple[Key, ...]:  # noqa: ANN401 - JSON
    """Raises ValueError, KeyError or TypeError if it is not as earlier versions wrote it."""
    if data["version"] != _VERSION:
        raise ValueError(data["version"])
    keys = tuple(Key(str(each["tenant"]), str(each["sha256"])) for each in data["keys"])
    if not keys or any(len(bytes.fromhex(key.sha256)) != 32 for key in keys):
        raise ValueError(len(keys))
    return keys


def _unreadable(path: Path, problem: str) -> ConfigError:
    return ConfigError(
        [
            f"{path}: the stored key cannot be read: {problem}. Put the file back as it was, "
            "delete it to have a new key made, or configure keys: tenants.ID.keys, or "
            "GROUNDWIRE_GATEWAY_API_KEY."
        ]
    )
