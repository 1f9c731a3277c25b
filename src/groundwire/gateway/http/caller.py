"""The caller of a request, and the paths that need no key."""

from dataclasses import dataclass

from groundwire.policy.policy import Overrides

#: Paths that need no key: probes, metrics, the OpenAPI document.
OPEN = frozenset({"/livez", "/readyz", "/metrics", "/openapi.json"})

#: Headers with what may be a key, of ours or of the upstream's.
CREDENTIALS = frozenset({"authorization", "x-api-key", "api-key"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The caller of a request.

    Attributes:
        tenant: The tenant whose key was sent.
        key_id: Id of the key; ``None`` without one.
        passes_authorization: Whether its :data:`CREDENTIALS` are for the upstream.
        overrides: The tenant's own settings when the request came. They hold for the whole
            request, also if the tenant is changed or deleted before its body is here.
    """

    tenant: str
    key_id: str | None
    passes_authorization: bool
    overrides: Overrides
