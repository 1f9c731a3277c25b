"""The log on standard error: each record is a line of text or a JSON object.

Records of this package hold no prompt or answer. For an exception that comes with a record, only
its class and line of code are written. Keys that Groundwire made are hidden.
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

#: The trace id of the current request, for log records and traces; empty outside of requests.
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
        is_probe: Whether the path is in :data:`.caller.OPEN`, such as that of a health probe. These
            requests are frequent, so their records have the level ``DEBUG``; others have ``INFO``.
    """
    level = logging.DEBUG if is_probe else logging.INFO
    _access.log(level, "request", extra={"fields": fields})


class TextLines(logging.Formatter):
    """Formats each log record as one line of text."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line of text that is safe to print, with hidden keys."""
        moment = datetime.fromtimestamp(record.created, UTC)
        rest = "".join(f" {name}={value}" for name, value in _fields_of(record).items())
        text = f"{moment:%Y-%m-%d %H:%M:%S} {record.levelname} {record.name}: "
        return one_line(hide_keys(f"{text}{record.getMessage()}{rest}"))


class JsonLines(logging.Formatter):
    """Formats each log record as a JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a JSON object on one line, with hidden keys."""
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
        # The exception's message is left out, because it may hold text of a user.
        kind, _, trace = record.exc_info
        frames = traceback.extract_tb(trace)
        where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        fields["error"] = f"{kind.__name__}{where}"
    return fields
