"""Opens verifiers by name. An API key in the environment alone never selects a verifier."""

import os
from collections.abc import Iterator
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
#: Setting → environment variable that is read if the setting has no value.
URL_VARIABLES = {"base_url": "OPENAI_BASE_URL", "service_url": "BERRY_SERVICE_URL"}

_loading = Lock()


@contextmanager
def opened(settings: Verify, scope: Scope = ANYONE) -> Iterator[Verifier]:
    """Open the verifier ``local`` or ``openai``, and close its connections afterwards.

    Raises:
        NotVerifiedError: If the endpoint has no usable key, or its URL is not allowed.
        MissingExtraError: If the extra that the verifier needs is not installed.
        ModelError: If the model of the verifier ``local`` cannot be used.
    """
    if settings.verifier == OPENAI:
        from groundwire.verify.client import ChatClient
        from groundwire.verify.endpoint import MAX_RETRIES, OPENAI_URL
        from groundwire.verify.openai import OpenAIVerifier

        key = wanted_key(settings)
        url = wanted_url(settings, "base_url") or OPENAI_URL
        with ChatClient(
            base_url=url,
            api_key=key,
            timeout_s=settings.timeout_s,
            max_retries=MAX_RETRIES,
            what="The openai verifier",
            scope=scope,
        ) as endpoint:
            yield OpenAIVerifier(endpoint, settings, key, scope)
    else:
        with _loading:
            embedded = local_verifier()
        yield embedded.within(scope)


@cache
def local_verifier() -> "LocalVerifier":
    """Return the verifier ``local``, which is loaded once per process."""
    from groundwire.verify.local import LocalVerifier

    return LocalVerifier.load()


def wanted_key(settings: Verify) -> str:
    """Return the API key of an endpoint or service, from the settings or ``OPENAI_API_KEY``.

    Raises:
        NotVerifiedError: If there is no key, or it is not printable ASCII.
    """
    own = settings.api_key
    key = (own.reveal() if isinstance(own, Secret) else os.environ.get(KEY_VARIABLE, "")).strip()
    if not key:
        raise NotVerifiedError(
            "missing_api_key",
            f"There is no API key. Set {KEY_VARIABLE}, or pass api_key; any text does for a server "
            'that wants none. verifier="local" needs no key.',
        )
    if not (key.isascii() and key.isprintable()):
        raise invalid_argument(f"{KEY_VARIABLE} = *** is not possible. It must be printable ASCII.")
    return key


def wanted_url(settings: Verify, name: str) -> str | None:
    """Return the URL in the setting ``name``, or else in the environment variable for this setting.

    ``name`` is ``base_url`` or ``service_url``. The result is ``None`` if neither has a URL.

    Raises:
        NotVerifiedError: If the value is not a URL, or if it is a plain HTTP URL of a machine that
            is neither this one nor ``plain_http_host``.
    """
    variable = URL_VARIABLES[name]
    url = getattr(settings, name) or os.environ.get(variable, "").strip()
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
