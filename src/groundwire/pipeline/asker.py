"""The tenant of a request, the tenant's settings, and settings that the request asks for."""

from dataclasses import dataclass
from typing import TypedDict

from groundwire.policy.policy import Overrides, Request


class AskerArguments(TypedDict, total=False):
    """Keyword arguments of a pipeline's methods: the tenant of a request, and settings.

    Attributes:
        tenant: Id of the tenant.
        overrides: The tenant's own settings. If they are ``None`` or missing, the pipeline uses the
            settings that it was given for this tenant.
        request: Settings that the request asks for; they apply where they are stricter than the
            policy.
        repair_s: Seconds that a repair may take, if the caller applies :attr:`.Checked.edits` to
            the answer that it sends. With 0, the action ``repair`` becomes ``block``.
    """

    tenant: str
    overrides: Overrides | None
    request: Request | None
    repair_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """The tenant of a request, the tenant's settings, and settings that the request asks for.

    Attributes:
        tenant: Id of the tenant.
        overrides: The tenant's own settings; ``None`` if the tenant has none.
        request: Settings that the request asks for; they apply where they are stricter than the
            policy.
        repair_s: Seconds that a repair may take, if the caller applies :attr:`.Checked.edits` to
            the answer that it sends. With 0, the action ``repair`` becomes ``block``.
    """

    tenant: str = ""
    overrides: Overrides | None = None
    request: Request | None = None
    repair_s: float = 0.0
