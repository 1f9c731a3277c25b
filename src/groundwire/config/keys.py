"""Keys as a configuration holds them: to be shown to nobody, and to be compared by their hashes."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from groundwire.config.kinds import KindError, Secret, SecretText

#: Whose key it is where a configuration names no tenant.
DEFAULT_TENANT = "default"

#: What stands for a key that is not itself in the file.
HASHED = "sha256:"

_VISIBLE = re.compile(r"[\x21-\x7e]+")
_KEY = re.compile(r"[\x21-\x7e]{16,512}")
_HASHED_KEY = re.compile(rf"{HASHED}[0-9a-fA-F]{{64}}")


@dataclass(frozen=True, slots=True)
class Token(SecretText):
    """A secret that goes into a header."""

    legal: str = "visible ASCII characters without spaces (shown as ***)"

    def read(self, raw: object) -> Secret:  # noqa: D102 - as Kind says
        if not isinstance(raw, str) or not _VISIBLE.fullmatch(raw) or raw == "***":
            raise KindError(self.legal)
        return Secret(raw)


@dataclass(frozen=True, slots=True)
class KeyText(SecretText):
    """A key for the gateway, or its hash."""

    legal: str = (
        "a key of 16 to 512 visible ASCII characters, or sha256: and the 64 hexadecimal digits of "
        "one (shown as ***)"
    )

    def read(self, raw: object) -> Secret:  # noqa: D102
        if not isinstance(raw, str):
            raise KindError(self.legal)
        is_hash = raw.startswith(HASHED)
        if not (_HASHED_KEY if is_hash else _KEY).fullmatch(raw):
            raise KindError(self.legal)
        return Secret(raw)


def key_hash(key: str | bytes) -> str:
    """The SHA-256 of a key, 64 hexadecimal digits.

    >>> key_hash("gw_0000000000000000")[:12]
    '1e2a42d676ea'
    """
    data = key.encode("utf-8", "surrogateescape") if isinstance(key, str) else key
    return hashlib.sha256(data).hexdigest()


def hash_of(configured: Secret) -> str:
    """The hash of a key as a configuration holds it, whichever way it does."""
    text = configured.reveal()
    if text.startswith(HASHED):
        return text.removeprefix(HASHED).lower()
    return key_hash(text)


def shared_key(keys: Mapping[str, tuple[Secret, ...]]) -> tuple[str, str] | None:
    """Two tenants that have a key in common: whose request it was could not be told."""
    owners: dict[str, str] = {}
    for tenant, own in keys.items():
        for each in own:
            owner = owners.setdefault(hash_of(each), tenant)
            if owner != tenant:
                return owner, tenant
    return None
