"""Records of the audit trail: an event as a line of JSON, its columns, and its place in a chain."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from groundwire.control.audit.event import AuditEvent
from groundwire.control.store import moments
from groundwire.control.store.tables import TENANT_CHARS

#: The MAC before the first record of a chain.
NOTHING = "0" * 64

#: The version of the format of chains, which each line of a file names.
VERSION = 1

#: The largest number that a database can hold.
MAX_SEQ = 2**63 - 1

_COMPACT = (",", ":")
_TRACE_CHARS = 64
_TYPE_CHARS = 64
_ID_CHARS = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The last record of a chain at some time.

    Attributes:
        writer: The id of the chain.
        seq: The number of the record.
        mac: The MAC of the record.
    """

    writer: str
    seq: int
    mac: str

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "Head":
        """Read JSON data, which anybody may have written.

        Raises:
            KeyError: If a field is missing.
            TypeError: If a field has the wrong type.
            ValueError: If the number is out of range.
        """
        writer, seq, mac = data["writer"], data["seq"], data["mac"]
        if type(writer) is not str or type(seq) is not int or type(mac) is not str:
            raise TypeError
        if not 1 <= seq <= MAX_SEQ:
            raise ValueError(seq)
        return cls(writer=writer, seq=seq, mac=mac)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {"writer": self.writer, "seq": self.seq, "mac": self.mac}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A serialized event that has no place in a chain yet.

    Attributes:
        columns: The columns by which the event is looked up.
        line: The event as one line of JSON.
        detail: Its detail as JSON, if it has one.
    """

    columns: Mapping[str, Any]
    line: str
    detail: str | None

    @classmethod
    def of(cls, event: AuditEvent) -> "Draft":
        """Serialize an event.

        Raises:
            TypeError: If it is not JSON data.
            ValueError: The same.
            RecursionError: The same.
        """
        data = event.to_dict()
        return cls(
            columns=columns_of(data),
            line=compact(data),
            detail=None if event.detail is None else _detail(event.detail),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """An event as it is kept, linked to the one before it.

    Attributes:
        writer: The id of its chain: 32 hexadecimal digits, new with each start of a process.
        seq: Its number in the chain, from 1.
        event_id: The id of the event. This and the next four repeat the line, for queries.
        moment: When it happened, in microseconds since 1970 in UTC.
        tenant: The tenant, cut to what the column holds.
        type: What happened.
        trace_id: The request, cut in the same way.
        line: The event as one line of JSON.
        detail: The detail as JSON; ``None`` if there is none, or it was removed.
        detail_sha256: The hash of the detail, whether that is still kept or not.
        previous: The MAC of the record before it.
        mac: The MAC of all of the above: see :mod:`~groundwire.control.audit.chain`.
    """

    writer: str
    seq: int
    event_id: str
    moment: int
    tenant: str
    type: str
    trace_id: str
    line: str
    detail: str | None
    detail_sha256: str | None
    previous: str
    mac: str

    @classmethod
    def read(cls, row: Mapping[Any, Any]) -> "AuditRecord | None":
        """Read a row; ``None`` if a value has the wrong type, which SQLite allows."""
        numbers, optional = ("seq", "moment"), ("detail", "detail_sha256")
        values = {name: row[name] for name in cls.__slots__}
        is_sound = all(
            isinstance(value, int if name in numbers else str)
            or (value is None and name in optional)
            for name, value in values.items()
        )
        return cls(**values) if is_sound else None

    @property
    def head(self) -> Head:
        """The place of the record in its chain."""
        return Head(writer=self.writer, seq=self.seq, mac=self.mac)

    def to_line(self) -> bytes:
        """Return it as one line of a file: the fields of the event, ``chain`` and ``detail``.

        The event stands in the line as it was signed, byte for byte. The line has no line break.
        """
        chain = {
            "version": VERSION,
            "writer": self.writer,
            "seq": self.seq,
            "previous": self.previous,
            "detail_sha256": self.detail_sha256,
            "mac": self.mac,
        }
        detail = "" if self.detail is None else f',"detail":{self.detail}'
        link = json.dumps(chain, separators=_COMPACT, default=str)
        line = f'{str(self.line)[:-1]},"chain":{link}{detail}}}'
        # A line that somebody has changed must still be one line.
        return line.encode("ascii", "backslashreplace").replace(b"\n", b" ").replace(b"\r", b" ")


def compact(data: object) -> str:
    """Return data as compact JSON in ASCII: the form that is signed.

    Raises:
        TypeError: If it is not JSON data.
        ValueError: The same.
    """
    return json.dumps(data, allow_nan=False, separators=_COMPACT)


def _detail(detail: Mapping[str, Any]) -> str:
    try:
        return compact(dict(detail))
    except (TypeError, ValueError, RecursionError) as error:
        # The record must not be lost because of its detail.
        return compact({"error": type(error).__name__})


def columns_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns by which an event is looked up.

    Args:
        event: The event as JSON data.

    Raises:
        KeyError: If a field is missing.
        TypeError: If a field has the wrong type.
        ValueError: If the timestamp is none.
    """
    return {
        "event_id": storable(event["id"], _ID_CHARS),
        "moment": moments.of_datetime(datetime.fromisoformat(event["timestamp"])),
        "tenant": storable(event["tenant"], TENANT_CHARS),
        "type": storable(event["type"], _TYPE_CHARS),
        "trace_id": storable(event["trace_id"], _TRACE_CHARS),
    }


def storable(text: object, max_chars: int) -> str:
    """Make a text such that every database takes it: no NUL, no half surrogate pair, not too long.

    A text that a client chose must not keep the trail from being written.

    Raises:
        TypeError: If it is not a text.
    """
    if not isinstance(text, str):
        raise TypeError
    if len(text) <= max_chars and text.isascii() and "\0" not in text:
        return text
    clean = text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    return clean[:max_chars]
