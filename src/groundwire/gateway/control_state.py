"""The state of the control plane for probes and metrics."""

from dataclasses import dataclass
from typing import Any

#: Seconds that a request waits for models or tenants which are still being loaded.
PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlState:
    """The state of the control plane.

    Attributes:
        is_open: Whether tenants and keys have been read at all.
        is_up: Whether the database can be used, as far as is known.
        problem: What is wrong with it.
        revision: Revision of the tenants and keys that this process knows.
        age_s: Seconds since tenants and keys were last known to be as stored.
        is_audit_failing: Whether records cannot be written.
        n_waiting: Records that wait to be written.
    """

    is_open: bool
    is_up: bool
    problem: str | None
    revision: int
    age_s: float
    is_audit_failing: bool
    n_waiting: int

    @property
    def is_well(self) -> bool:
        """Whether database and audit log work."""
        return self.is_up and not self.is_audit_failing

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON data for ``/readyz``."""
        store: dict[str, Any] = {"status": "up"}
        if not self.is_up:
            store = {"status": "unavailable", "problem": self.problem}
        return {
            "store": store,
            "audit": {
                "status": "failing" if self.is_audit_failing else "up",
                "waiting": self.n_waiting,
            },
        }
