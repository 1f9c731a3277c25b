"""The keys that requests come with: what is kept of them, and who takes them.

Only hashes are kept. A key is 32 random bytes, so its SHA-256 needs neither salt nor stretching.
"""

import hmac
import json
import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, TypeVar

from groundwire.config import Config
from groundwire.config.keys import DEFAULT_TENANT, hash_of, key_hash
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The keys of a start.

    Attributes:
        keyring: All that are taken.
        path: Where a key is stored, used or not; ``None`` if none is.
        is_used: Whether that one is taken: a configuration with keys is all there is.
        new_key: The key that was just made. It is shown once and kept nowhere.
    """

    keyring: Keyring
    path: Path | None = None
    is_used: bool = False
    new_key: str | None = None


def new_key(prefix: str = PREFIX) -> str:
    """A key that nobody can guess: 32 random bytes."""
    return f"{prefix}{secrets.token_urlsafe(32)}"


def prepare_keys(config: Config, folder: Path) -> Start:
    """The keys of a configuration; else the stored one; else a new one, which is stored.

    Args:
        config: Whose keys are all there is, if it has any.
        folder: Where the hash of a generated key is kept.

    Raises:
        ConfigError: If the stored key cannot be read.
        OSError: If a new one cannot be stored.
    """
    path = folder / FILE
    configured = Keyring.of(config)
    if configured.keys:
        return Start(keyring=configured, path=path if path.exists() else None)
    if (stored := read_keys(path)) is not None:
        return Start(keyring=Keyring(stored), path=path, is_used=True)
    key = new_key()
    if not write_keys(path, [Key(DEFAULT_TENANT, key_hash(key))]):
        # Another gateway with this folder was faster; its key is the one that holds.
        return prepare_keys(config, folder)
    return Start(keyring=Keyring(read_keys(path) or ()), path=path, is_used=True, new_key=key)


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
    """Raises ValueError, KeyError or TypeError if it is not as :func:`write_keys` writes it."""
    if data["version"] != _VERSION:
        raise ValueError(data["version"])
    keys = tuple(Key(str(each["tenant"]), str(each["sha256"])) for each in data["keys"])
    if not keys or any(len(bytes.fromhex(key.sha256)) != 32 for key in keys):
        raise ValueError(len(keys))
    return keys


def write_keys(path: Path, keys: Iterable[Key]) -> bool:
    """Store keys where none are stored, for the eyes of this user.

    Returns:
        Whether they were; not if there is such a file by now.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    rows = [{"tenant": each.tenant, "sha256": each.sha256, "created": now} for each in keys]
    text = json.dumps({"version": _VERSION, "keys": rows}, indent=2)
    # mkstemp makes files that only this user can read.
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        return _put(Path(temporary), path)
    finally:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()


def _put(temporary: Path, path: Path) -> bool:
    """Give a file its name, all at once, unless another has it."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        return False
    except (OSError, NotImplementedError):  # a file system without links
        temporary.replace(path)
    return True


def _unreadable(path: Path, problem: str) -> ConfigError:
    return ConfigError(
        [
            f"{path}: the stored key cannot be read: {problem}. Put the file back as it was, "
            "delete it to have a new key made, or configure keys: tenants.ID.keys, or "
            "GROUNDWIRE_GATEWAY_API_KEY."
        ]
    )
