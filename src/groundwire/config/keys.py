"""The API keys in a configuration, and their hashes."""

import hashlib
from collections.abc import Mapping
from typing import Annotated

from groundwire.config.kinds import Secret, matching, secret

#: Id of the tenant that the key ``gateway.api_key`` belongs to.
DEFAULT_TENANT = "default"

#: Prefix of a key in the configuration that is given as its hash, not as text.
HASHED = "sha256:"

#: The type of a secret that is sent in an HTTP header.
Token = Annotated[
    Secret, secret(matching(r"[\x21-\x7e]+", "visible ASCII characters without spaces"))
]

#: The type of a key for the gateway, given as text or as its hash.
KeyText = Annotated[
    Secret,
    secret(
        matching(
            rf"(?!{HASHED})[\x21-\x7e]{{16,512}}|{HASHED}[0-9a-fA-F]{{64}}",
            "a key of 16 to 512 visible ASCII characters, or sha256: and the 64 hexadecimal digits "
            "of one",
        )
    ),
]


def key_hash(key: str | bytes) -> str:
    """Return the SHA-256 of a key, 64 hexadecimal digits.

    >>> key_hash("gw_0000000000000000")[:12]
    '1e2a42d676ea'
    """
    data = key.encode("utf-8", "surrogateescape") if isinstance(key, str) else key
    return hashlib.sha256(data).hexdigest()


def hash_of(configured: Secret) -> str:
    """Return the hash of a configured key, which may be given as text or as its hash."""
    text = configured.reveal()
    return text.removeprefix(HASHED).lower() if text.startswith(HASHED) else key_hash(text)


def shared_key(keys: Mapping[str, tuple[Secret, ...]]) -> tuple[str, str] | None:
    """Return the ids of two tenants that have the same key; ``None`` if no tenants share a key."""
    owners: dict[str, str] = {}
    for tenant, own in keys.items():
        for each in own:
            owner = owners.setdefault(hash_of(each), tenant)
            if owner != tenant:
                return owner, tenant
    return None
