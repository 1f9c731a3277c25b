"""The caller of a request, the paths that need no key, and the headers that may hold a key."""

from dataclasses import dataclass

from groundwire.policy.policy import Overrides

#: Paths that need no key: those of probes, metrics and the OpenAPI document.
OPEN = frozenset({"/livez", "/readyz", "/metrics", "/openapi.json"})

#: Headers that may hold a key of the gateway or of the upstream; ``X-Groundwire-Key`` is not among
#: them, since its key is always the gateway's.
CREDENTIALS = frozenset({"authorization", "x-api-key", "api-key", "ocp-apim-subscription-key"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request: the tenant with its settings, and the key in the request.

    Attributes:
        tenant: Id of the tenant whose key was sent; the default tenant if no key is needed.
        key_id: Id of the key; ``None`` if no key is needed.
        passes_authorization: Whether the :data:`CREDENTIALS` in the request go to the upstream.
        overrides: The tenant's own settings as they were when the request came. They hold for the
            whole request, even if the tenant is changed or deleted meanwhile.
    """

    tenant: str
    key_id: str | None
    passes_authorization: bool
    overrides: Overrides
