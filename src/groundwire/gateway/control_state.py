"""The state of the control plane for probes and metrics."""

from dataclasses import dataclass
from typing import Any

#: Limit on the seconds that a request waits for models or tenants that are not loaded yet.
PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlState:
    """The state of the database, of tenants and keys, and of the audit log at one moment.

    Attributes:
        is_up: Whether the last attempt to read the database succeeded.
        problem: The reason why the database cannot be used; ``None`` if it is up.
        revision: Revision of the tenants and keys that this process knows; -1 before they are read.
        age_s: Seconds since this process last compared its tenants and keys with the database; 0
            before they are read.
        is_audit_failing: Whether the last write to the audit log failed, or its queue is full.
        n_waiting: Number of audit events that wait to be written.
    """

    is_up: bool
    problem: str | None
    revision: int
    age_s: float
    is_audit_failing: bool
    n_waiting: int

    def to_dict(self) -> dict[str, Any]:
        """Return the state of the database and the audit log as JSON data for ``/readyz``."""
        down = {"status": "unavailable", "problem": self.problem}
        audit = "failing" if self.is_audit_failing else "up"
        return {
            "store": {"status": "up"} if self.is_up else down,
            "audit": {"status": audit, "waiting": self.n_waiting},
        }
