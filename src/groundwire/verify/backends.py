"""Opens verifiers by name. None is opened that is not named, whatever the environment holds."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from groundwire.config.tree import Verify
from groundwire.verify.verifier import ANYONE, Scope, Verifier

if TYPE_CHECKING:
    from groundwire.verify.local import LocalVerifier

LOCAL, OPENAI, SERVICE = "local", "openai", "service"

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
        from groundwire.verify.openai import OpenAIVerifier

        with OpenAIVerifier.open(settings, os.environ, scope=scope) as endpoint:
            yield endpoint
    else:
        with _loading:
            embedded = _local()
        yield embedded.within(scope)


@cache
def _local() -> "LocalVerifier":
    """The embedded verifier, which is loaded once and keeps what it has read."""
    from groundwire.verify.local import LocalVerifier

    return LocalVerifier.load()
