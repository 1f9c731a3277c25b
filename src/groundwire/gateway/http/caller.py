"""Who sent a request, and what a request needs no key for."""

from dataclasses import dataclass

from groundwire.policy.policy import Overrides

#: Paths that need no key: probes, metrics, the OpenAPI document.
OPEN = frozenset({"/livez", "/readyz", "/metrics", "/openapi.json"})

#: Headers with what may be a key, of ours or of the upstream's.
CREDENTIALS = frozenset({"authorization", "x-api-key", "api-key"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sent a request.

    Attributes:
        tenant: Whose it is.
        key_id: What its key is called; ``None`` without one.
        passes_authorization: Whether its :data:`CREDENTIALS` are for the upstream.
        overrides: What its tenant had of its own when it came. That holds for the whole request,
            also if the tenant is changed or deleted before its body is here.
    """

    tenant: str
    key_id: str | None
    passes_authorization: bool
    overrides: Overrides
