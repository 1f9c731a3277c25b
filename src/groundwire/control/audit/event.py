"""Defines events of the audit trail, as they are before they are signed."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from groundwire.control.store.moments import now
from groundwire.detection.values import FrozenMapping

# Masks for the bits of a UUID of version 7: 48 bits of milliseconds, and the random bits.
_TIME, _CHANCE = (2**48 - 1) << 80, (2**12 - 1) << 64 | (2**62 - 1)
_VERSION_7 = 7 << 76 | 2 << 62

#: The tenant of events that are about no tenant. No stored tenant can have this id.
NO_TENANT = "-"


class EventType(StrEnum):
    """The types of the events of the audit trail.

    The first three types and ``TENANT_METADATA_UPDATED`` have the names that DVARA, another
    gateway, gives them.
    """

    HALLUCINATION_DETECTED = "HALLUCINATION_DETECTED"
    HALLUCINATION_DETECTED_STREAMING = "HALLUCINATION_DETECTED_STREAMING"
    STREAMING_ENFORCEMENT_SUMMARY = "STREAMING_ENFORCEMENT_SUMMARY"
    CHECK_INCOMPLETE = "CHECK_INCOMPLETE"  # the outcome is partial, unverified or unavailable
    ANSWER_SAMPLED = "ANSWER_SAMPLED"  # a checked answer, drawn at random for review
    UNCHECKED_ENDPOINT = "UNCHECKED_ENDPOINT"
    # A response or its end was withheld, or a request refused: the events could not be recorded.
    AUDIT_UNAVAILABLE = "AUDIT_UNAVAILABLE"

    TENANT_CREATED = "TENANT_CREATED"
    TENANT_METADATA_UPDATED = "TENANT_METADATA_UPDATED"
    TENANT_POLICY_UPDATED = "TENANT_POLICY_UPDATED"
    TENANT_DELETED = "TENANT_DELETED"
    KEY_CREATED = "KEY_CREATED"
    KEY_REVOKED = "KEY_REVOKED"
    ACCOUNT_CREATED = "ACCOUNT_CREATED"
    ACCOUNT_UPDATED = "ACCOUNT_UPDATED"
    ACCOUNT_REMOVED = "ACCOUNT_REMOVED"
    ANSWER_LABELLED = "ANSWER_LABELLED"  # a reviewer judged the findings of a recorded answer
    ADMIN_LOGIN = "ADMIN_LOGIN"
    ADMIN_LOGIN_FAILED = "ADMIN_LOGIN_FAILED"

    CHAIN_STARTED = "CHAIN_STARTED"
    CHAIN_ENDED = "CHAIN_ENDED"
    RECORDS_EXPORTED = "RECORDS_EXPORTED"
    RETENTION_APPLIED = "RETENTION_APPLIED"


#: The types of events that report a hallucinated answer.
FOUND = (EventType.HALLUCINATION_DETECTED, EventType.HALLUCINATION_DETECTED_STREAMING)


def moment_text(moment: datetime) -> str:
    """Format a moment as events write it: in UTC, with milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _new_id() -> str:
    """Make a UUID of version 7: it begins with the time, so a database index grows at its end."""
    milliseconds, chance = time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10), "big")
    return str(UUID(int=milliseconds << 80 & _TIME | chance & _CHANCE | _VERSION_7))


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """An event of the audit trail.

    Attributes:
        tenant: The id of the tenant, or :data:`NO_TENANT`.
        trace_id: The id of the request, as in ``X-Trace-ID``; empty if the event is not about
            a single request.
        payload: The facts of the event, as JSON data.
        id: The id of the event, a UUID.
        timestamp: The moment of the event, in UTC.
        detail: The findings about an answer, as JSON data; ``None`` if the event does not report
            the check of an answer, or if no details are kept.
    """

    type: EventType
    tenant: str
    trace_id: str
    payload: Mapping[str, Any]
    id: str = field(default_factory=_new_id)
    timestamp: datetime = field(default_factory=now)
    detail: Mapping[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "payload", FrozenMapping(self.payload))

    def to_dict(self) -> dict[str, Any]:
        """Return the event as JSON data, without the detail."""
        return {
            "id": self.id,
            "timestamp": moment_text(self.timestamp),
            "tenant": self.tenant,
            "type": str(self.type),
            "trace_id": self.trace_id,
            "payload": dict(self.payload),
        }
