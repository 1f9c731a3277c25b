"""The record of what was found and of what was done about it.

``event`` says what an event is, ``events`` builds them; ``quoted`` says what they keep of a text
and ``redact`` what of none, ``detail`` keeps what was found in full;
``sinks`` writes lines, and ``log`` stands between: no event is dropped.
"""

from groundwire.gateway.audit.event import AuditEvent, EventType
from groundwire.gateway.audit.events import (
    Disposition,
    StreamSummary,
    grounding_unavailable_event,
    response_events,
    stream_events,
    unchecked_endpoint_event,
)
from groundwire.gateway.audit.log import AuditLog, AuditStats
from groundwire.gateway.audit.quoted import AuditText, Keeping
from groundwire.gateway.audit.redact import Redaction
from groundwire.gateway.audit.sinks import FileSink, PartlyAppendedError, Sink, StdoutSink

__all__ = [
    "AuditEvent",
    "AuditLog",
    "AuditStats",
    "AuditText",
    "Disposition",
    "EventType",
    "FileSink",
    "Keeping",
    "PartlyAppendedError",
    "Redaction",
    "Sink",
    "StdoutSink",
    "StreamSummary",
    "grounding_unavailable_event",
    "response_events",
    "stream_events",
    "unchecked_endpoint_event",
]
