"""Records of the audit trail: an event as a line of JSON, its columns, and its place in a chain."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Self

from groundwire.control.audit.event import AuditEvent
from groundwire.control.store import moments
from groundwire.control.store.tables import TENANT_CHARS

#: The value of ``previous`` in the first record of a chain, in place of a MAC.
NOTHING = "0" * 64

#: The version of the format of chains; each line of a log file names it.
VERSION = 1

#: The largest number that a record can have in its chain: databases store no larger integers.
MAX_SEQ = 2**63 - 1

#: Name → type of the columns that are not simply text; SQLite stores any type in any column.
_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("seq", "moment", "started_at"), int),
    **dict.fromkeys(("detail", "detail_sha256"), str | None),
    "ended_at": int | None,
}

_COMPACT = (",", ":")
_TRACE_CHARS = 64
_TYPE_CHARS = 64
_ID_CHARS = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Number and MAC of a record of a chain: mostly the last one, now or at an earlier time.

    Attributes:
        writer: The id of the chain.
        seq: The number of the record, from 1; 0 if the chain has no record yet.
        mac: The MAC of the record.
    """

    writer: str
    seq: int
    mac: str

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "Head":
        """Read a head from JSON data, which is untrusted.

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

    @classmethod
    def read(cls, row: Mapping[Any, Any]) -> Self | None:
        """Read a stored row; ``None`` if a value has a wrong type, which SQLite allows."""
        is_sound = all(isinstance(value, _KINDS.get(name, str)) for name, value in row.items())
        return cls(**row) if is_sound else None

    @property
    def head(self) -> "Head":
        """The head alone, without the fields of a subclass."""
        return Head(writer=self.writer, seq=self.seq, mac=self.mac)

    def to_dict(self) -> dict[str, Any]:
        """Return the head as JSON data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A serialized event that has no place in a chain yet.

    Attributes:
        columns: Name → value of the database columns by which the event is looked up.
        line: The event as one line of JSON.
        detail: The detail of the event as JSON; ``None`` without a detail.
    """

    columns: Mapping[str, Any]
    line: str
    detail: str | None

    @classmethod
    def of(cls, event: AuditEvent) -> "Draft":
        """Serialize an event.

        Raises:
            TypeError, ValueError, RecursionError: If the event is not JSON data.
        """
        data = event.to_dict()
        return cls(
            columns=columns_of(data),
            line=compact(data),
            detail=None if event.detail is None else _detail(event.detail),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord(Head):
    """A signed event of a chain, linked to the record before it.

    ``event_id``, ``moment``, ``tenant``, ``type`` and ``trace_id`` are values of ``line`` in a form
    that databases can store and search for; long texts are cut.
    :mod:`~groundwire.control.audit.chain` says what is signed.

    Attributes:
        writer: The id of the chain, 32 hexadecimal digits.
        seq: The number of the record in the chain, from 1.
        moment: The moment of the event, in microseconds since 1970.
        line: The event as one line of JSON.
        detail: The detail as JSON; ``None`` if there is none, or it was removed or not read.
        detail_sha256: The SHA-256 of the detail, even of a removed one; ``None`` if there was none.
        previous: The MAC of the record before; :data:`NOTHING` in the first record.
    """

    event_id: str
    moment: int
    tenant: str
    type: str
    trace_id: str
    line: str
    detail: str | None
    detail_sha256: str | None
    previous: str

    def to_line(self) -> bytes:
        """Return the record as one line of a file: the event's fields, ``chain`` and ``detail``.

        The event's fields have the same bytes as in ``line``, which is signed. Without a detail,
        the field ``detail`` is left out. There is no line break, not even at the end.
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
        # Even if somebody changed the record, the result must be one line.
        return line.encode("ascii", "backslashreplace").replace(b"\n", b" ").replace(b"\r", b" ")


def compact(data: object) -> str:
    """Return data as compact JSON in ASCII.

    Raises:
        TypeError, ValueError, RecursionError: If the data cannot be written as JSON.
    """
    return json.dumps(data, allow_nan=False, separators=_COMPACT)


def _detail(detail: Mapping[str, Any]) -> str:
    try:
        return compact(dict(detail))
    except (TypeError, ValueError, RecursionError) as error:
        # The event is recorded even if its detail is not valid.
        return compact({"error": type(error).__name__})


def columns_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return name → value of the database columns by which an event is looked up.

    Raises:
        KeyError: If a field is missing.
        TypeError: If a field has the wrong type.
        ValueError: If the timestamp is not a valid moment.
    """
    return {
        "event_id": storable(event["id"], _ID_CHARS),
        "moment": moments.of_datetime(datetime.fromisoformat(event["timestamp"])),
        "tenant": storable(event["tenant"], TENANT_CHARS),
        "type": storable(event["type"], _TYPE_CHARS),
        "trace_id": storable(event["trace_id"], _TRACE_CHARS),
    }


def storable(text: object, max_chars: int) -> str:
    """Return a text that can be stored: with NUL and lone surrogates replaced, and cut if long.

    So no text that a client sends can keep a record from being stored.

    Raises:
        TypeError: If ``text`` is not a text.
    """
    if not isinstance(text, str):
        raise TypeError
    if len(text) <= max_chars and text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")[:max_chars]
