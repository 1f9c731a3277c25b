"""The audit trail: signed records of what the gateway found and did.

``event`` defines an event; ``events`` builds the events about answers, ``control_events`` the
events about tenants, keys and accounts. ``quoted`` decides how much of a text an event keeps,
``redact`` removes secrets from it, and ``detail`` keeps all findings about an answer. ``chain``
signs events as records, ``log`` writes them to one of ``sinks`` or to ``store_sink``;
``configured`` makes the log of a configuration. ``trail`` reads the records in the store,
``retention`` removes old records, and ``verify`` finds changed and missing records.
"""

from groundwire.control.audit.chain import Chain
from groundwire.control.audit.event import AuditEvent, EventType
from groundwire.control.audit.events import response_events
from groundwire.control.audit.log import AuditLog
from groundwire.control.audit.quoted import AuditText, Keeping
from groundwire.control.audit.redact import Redaction
from groundwire.control.audit.store_sink import StoreSink

__all__ = [
    "AuditEvent",
    "AuditLog",
    "AuditText",
    "Chain",
    "EventType",
    "Keeping",
    "Redaction",
    "StoreSink",
    "response_events",
]
