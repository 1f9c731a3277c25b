"""The log of the gateway on standard error: each record is a line of text or a JSON object.

Records of this package hold no key, prompt or answer: exceptions are logged as their class and line
of code, and text that looks like a key is removed.
"""

import json
import logging
import traceback
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from groundwire.config.tree import Log
from groundwire.control.keys import hide_keys
from groundwire.text.screen import one_line

#: The trace id of the current request, which all its log records get.
TRACE_ID: ContextVar[str] = ContextVar("trace_id", default="")

_access = logging.getLogger("groundwire.access")


def log_to_stderr(settings: Log) -> None:
    """Send log records of this package, and warnings and errors of libraries, to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if settings.format == "json" else TextLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    # No line says where in the code it was logged, so logging need not look up that place (see the
    # section "Optimization" in Python's documentation of logging).
    logging._srcfile = None
    logging.getLogger("groundwire").setLevel(settings.level.upper())
    _access.setLevel(logging.NOTSET if settings.access else logging.ERROR)
    logging.captureWarnings(True)


def log_access(fields: Mapping[str, object], *, is_probe: bool) -> None:
    """Write a log record about a request that has ended.

    Args:
        fields: The fields of the record: numbers, ids, and labels from fixed sets. Apart from the
            trace id, which the client may choose, they hold no text that the client wrote.
        is_probe: Whether the request is a health probe, or for another path that needs no key, such
            as ``/metrics``. Such requests are many and all alike, so their records get only the
            level ``DEBUG``.
    """
    level = logging.DEBUG if is_probe else logging.INFO
    _access.log(level, "request", extra={"fields": fields})


class TextLines(logging.Formatter):
    """Formats each log record as one line of text."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line of text, without API keys and control characters."""
        moment = datetime.fromtimestamp(record.created, UTC)
        rest = "".join(f" {name}={value}" for name, value in _fields_of(record).items())
        text = f"{moment:%Y-%m-%d %H:%M:%S} {record.levelname} {record.name}: "
        return one_line(hide_keys(f"{text}{record.getMessage()}{rest}"))


class JsonLines(logging.Formatter):
    """Formats each log record as a JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON: time, level, logger, message, and the record's own fields."""
        moment = datetime.fromtimestamp(record.created, UTC)
        data = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        return hide_keys(json.dumps(data | _fields_of(record), default=str))


def _fields_of(record: logging.LogRecord) -> dict[str, Any]:
    fields = dict(getattr(record, "fields", {}))
    if trace_id := TRACE_ID.get():
        fields.setdefault("trace_id", trace_id)
    if record.exc_info and record.exc_info[0] is not None:
        # The exception's message is left out: it may hold text of a user.
        kind, _, trace = record.exc_info
        frames = traceback.extract_tb(trace)
        where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        fields["error"] = f"{kind.__name__}{where}"
    return fields
