"""The record of what was found and of what was done about it.

``event`` says what an event is, ``events`` builds them; ``quoted`` says what they keep of a text
and ``redact`` what of none, ``detail`` keeps what was found in full. ``control_events`` has those
of tenants and keys. ``chain`` links them to records, ``sinks`` and ``store_sink`` keep those, and
``log`` stands between: no event is dropped. ``configured`` makes the log of a configuration.
``trail`` reads what the store has, ``retention`` removes what is too old, and ``verify`` says
whether what is kept is what was written.
"""

from groundwire.control.audit.chain import Chain
from groundwire.control.audit.event import NO_TENANT, AuditEvent, EventType
from groundwire.control.audit.events import (
    Disposition,
    StreamSummary,
    grounding_unavailable_event,
    response_events,
    stream_events,
    unchecked_endpoint_event,
)
from groundwire.control.audit.log import AuditLog, AuditStats
from groundwire.control.audit.quoted import AuditText, Keeping
from groundwire.control.audit.record import AuditRecord, Head
from groundwire.control.audit.redact import Redaction
from groundwire.control.audit.sinks import FileSink, Sink, StdoutSink
from groundwire.control.audit.store_sink import StoreSink

__all__ = [
    "NO_TENANT",
    "AuditEvent",
    "AuditLog",
    "AuditRecord",
    "AuditStats",
    "AuditText",
    "Chain",
    "Disposition",
    "EventType",
    "FileSink",
    "Head",
    "Keeping",
    "Redaction",
    "Sink",
    "StdoutSink",
    "StoreSink",
    "StreamSummary",
    "grounding_unavailable_event",
    "response_events",
    "stream_events",
    "unchecked_endpoint_event",
]
