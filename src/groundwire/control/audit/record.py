"""What is kept of an event: its line, what it is looked up by, and its place in a chain."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from groundwire.control.audit.event import AuditEvent
from groundwire.control.store import moments
from groundwire.control.store.tables import TENANT_CHARS

#: Of a chain's first record: there is none before it.
NOTHING = "0" * 64

#: How chains are made; a record says it, so that another way can be told apart.
VERSION = 1

#: What a database has room for.
MAX_SEQ = 2**63 - 1

_TRACE_CHARS = 64
_TYPE_CHARS = 64
_ID_CHARS = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a chain stands.

    Attributes:
        writer: Whose chain it is.
        seq: The number of its last record.
        mac: Of that record.
    """

    writer: str
    seq: int
    mac: str

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "Head":
        """Read one of JSON data, which anybody may have written.

        Raises:
            KeyError: If it is none; so do the others.
            TypeError: The same.
            ValueError: The same.
        """
        writer, seq, mac = data["writer"], data["seq"], data["mac"]
        if type(writer) is not str or type(seq) is not int or type(mac) is not str:
            raise TypeError
        if not 1 <= seq <= MAX_SEQ:
            raise ValueError(seq)
        return cls(writer=writer, seq=seq, mac=mac)

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return {"writer": self.writer, "seq": self.seq, "mac": self.mac}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a record is made of, before it has its place in a chain.

    Attributes:
        columns: What the table says of the event beside its line.
        line: The event as one line of JSON.
        detail: Its detail as JSON, if it has one.
    """

    columns: Mapping[str, Any]
    line: str
    detail: str | None

    @classmethod
    def of(cls, event: AuditEvent) -> "Draft":
        """Write an event down.

        Raises:
            TypeError: If it is no JSON data; so do the others.
            ValueError: The same.
            RecursionError: The same.
        """
        data = event.to_dict()
        return cls(
            columns=columns_of(data),
            line=compact(data),
            detail=None if event.detail is None else _detail(event.detail),
        )

    def without_detail(self) -> "Draft":
        """The same, and what was found in full is not kept."""
        return Draft(columns=self.columns, line=self.line, detail=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """An event as it is kept, linked to the one before it.

    Attributes:
        writer: Whose chain it is in: 32 hexadecimal digits, new with each start of a process.
        seq: Its number in the chain, from 1.
        event_id: What its line says, to be looked up by; so are the next four.
        moment: Microseconds since 1970 in UTC.
        tenant: Cut where the table has no more room.
        type: What happened.
        trace_id: Cut in the same way.
        line: The event as one line of JSON.
        detail: What was found in full, as JSON; ``None`` if there is none, or no more.
        detail_sha256: Of the detail, whether it is still kept or not.
        previous: The mac of the record before it.
        mac: What signs all of it: see :mod:`~groundwire.control.audit.chain`.
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

    @property
    def head(self) -> Head:
        """Where its chain stands with it."""
        return Head(writer=self.writer, seq=self.seq, mac=self.mac)

    def to_line(self) -> bytes:
        """As one line of a file, without its end: the fields of the event, ``chain``, ``detail``.

        The event stands in it as it was signed, byte for byte.
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
        return f'{self.line[:-1]},"chain":{compact(chain)}{detail}}}'.encode("ascii")


def compact(data: object) -> str:
    """JSON in ASCII, without a space that it does not need: the form that is signed.

    Raises:
        TypeError: If it is no JSON data.
        ValueError: The same.
    """
    return json.dumps(data, allow_nan=False, separators=(",", ":"))


def _detail(detail: Mapping[str, Any]) -> str:
    try:
        return compact(dict(detail))
    except (TypeError, ValueError, RecursionError) as error:
        # It must not cost the record: that one says what went wrong.
        return compact({"error": type(error).__name__})


def columns_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """What the table says of an event beside its line.

    Args:
        event: What its line says.

    Raises:
        KeyError: If it is no event; so do the others.
        TypeError: The same.
        ValueError: The same.
    """
    return {
        "event_id": storable(event["id"], _ID_CHARS),
        "moment": moments.of_datetime(datetime.fromisoformat(event["timestamp"])),
        "tenant": storable(event["tenant"], TENANT_CHARS),
        "type": storable(event["type"], _TYPE_CHARS),
        "trace_id": storable(event["trace_id"], _TRACE_CHARS),
    }


def storable(text: object, max_chars: int) -> str:
    """A text as every database takes it: no NUL, no half of a surrogate pair, and not too long.

    What a client can choose must not keep the trail from being written.

    Raises:
        TypeError: If it is no text.
    """
    if not isinstance(text, str):
        raise TypeError
    if len(text) <= max_chars and text.isascii() and "\0" not in text:
        return text
    clean = text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    return clean[:max_chars]
