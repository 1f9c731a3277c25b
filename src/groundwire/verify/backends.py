"""Opens verifiers by name. A key in the environment alone opens none."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from groundwire.config.kinds import KindError, Secret, is_encrypted
from groundwire.config.tree import SETTINGS, Verify
from groundwire.verify.errors import NotVerifiedError, invalid_argument
from groundwire.verify.verifier import ANYONE, Scope, Verifier

if TYPE_CHECKING:
    from groundwire.verify.local import LocalVerifier

LOCAL, OPENAI, SERVICE = "local", "openai", "service"

KEY_VARIABLE = "OPENAI_API_KEY"
#: Setting → the variable that holds it, if it is not given.
URL_VARIABLES = {"base_url": "OPENAI_BASE_URL", "service_url": "BERRY_SERVICE_URL"}

_loading = Lock()


@contextmanager
def opened(settings: Verify, scope: Scope = ANYONE) -> Iterator[Verifier]:
    """Open the verifier ``local`` or ``openai``, for as long as it is needed.

    Args:
        settings: Settings of the verification.
        scope: Tenant of the claims, and when to stop.

    Raises:
        NotVerifiedError: If it cannot be reached with the key and URL that are given.
        MissingExtraError: If its extra is not installed.
        ModelError: If the embedded model cannot be used.
    """
    if settings.verifier == OPENAI:
        from groundwire.verify.endpoint import OPENAI_URL, open_endpoint
        from groundwire.verify.openai import OpenAIVerifier

        key = wanted_key(settings, os.environ)
        url = wanted_url(settings, "base_url", os.environ) or OPENAI_URL
        with open_endpoint(
            base_url=url, api_key=key, timeout_s=settings.timeout_s, scope=scope
        ) as endpoint:
            yield OpenAIVerifier(endpoint, settings, api_key=key, scope=scope)
    else:
        with _loading:
            embedded = local_verifier()
        yield embedded.within(scope)


@cache
def local_verifier() -> "LocalVerifier":
    """The embedded verifier, which is loaded once and keeps what it has read."""
    from groundwire.verify.local import LocalVerifier

    return LocalVerifier.load()


def wanted_key(settings: Verify, environ: Mapping[str, str]) -> str:
    """Read the key of an endpoint or a service.

    Raises:
        NotVerifiedError: If there is none, or it cannot stand in an HTTP header.
    """
    own = settings.api_key
    key = (own.reveal() if isinstance(own, Secret) else environ.get(KEY_VARIABLE, "")).strip()
    if not key:
        raise NotVerifiedError(
            "missing_api_key",
            f"There is no API key. Set {KEY_VARIABLE}, or pass api_key; any text does for a server "
            'that wants none. verifier="local" needs no key.',
        )
    if not (key.isascii() and key.isprintable()):
        raise invalid_argument(f"{KEY_VARIABLE} = *** is not possible. It must be printable ASCII.")
    return key


def wanted_url(settings: Verify, name: str, environ: Mapping[str, str]) -> str | None:
    """Read the URL that a setting has, or else a variable; ``None`` if there is none.

    Args:
        settings: Settings of the verification.
        name: ``base_url`` or ``service_url``.
        environ: The environment.

    Raises:
        NotVerifiedError: If it is plain HTTP to another machine, or not a URL.
    """
    variable = URL_VARIABLES[name]
    url = getattr(settings, name) or environ.get(variable, "").strip()
    if not url:
        return None
    try:
        read = str(SETTINGS[f"verify.{name}"].kind.read(url)).rstrip("/")
        if is_encrypted(read, plain_host=settings.plain_http_host):
            return read
    except KindError:
        pass
    raise invalid_argument(
        f"{name} ({variable}) is not possible: it must be a URL with https://, or with http:// on "
        "this machine, for answer, evidence and key would travel unencrypted. To allow that for a "
        "host of your own network, name it as plain_http_host."
    )
