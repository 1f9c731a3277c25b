"""The record of what was found and of what was done about it.

``event`` says what an event is, ``events`` builds them; ``quoted`` says what they keep of a text
and ``redact`` what of none, ``detail`` keeps what was found in full. ``control_events`` has those
of tenants and keys. ``chain`` links them to records, ``sinks`` and ``store_sink`` keep those, and
``log`` stands between: no event is dropped. ``configured`` makes the log of a configuration.
``trail`` reads what the store has, ``retention`` removes what is too old, and ``verify`` says
whether what is kept is what was written.
"""

from groundwire.gateway.audit.chain import Chain
from groundwire.gateway.audit.event import NO_TENANT, AuditEvent, EventType
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
from groundwire.gateway.audit.record import Head, Record
from groundwire.gateway.audit.redact import Redaction
from groundwire.gateway.audit.sinks import FileSink, Sink, StdoutSink
from groundwire.gateway.audit.store_sink import StoreSink

__all__ = [
    "NO_TENANT",
    "AuditEvent",
    "AuditLog",
    "AuditStats",
    "AuditText",
    "Chain",
    "Disposition",
    "EventType",
    "FileSink",
    "Head",
    "Keeping",
    "Record",
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
