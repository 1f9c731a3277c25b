"""A record as it is found again. Whatever stands in its row, it can be shown."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from groundwire.control.audit.cursor import RecordPosition
from groundwire.control.audit.event import moment_text
from groundwire.control.audit.record import AuditRecord
from groundwire.control.store import moments

_FIELDS = frozenset({"id", "timestamp", "tenant", "type", "trace_id", "payload"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRecord:
    """A record of the trail.

    Attributes:
        event: What happened, as its line says: ``id``, ``timestamp``, ``tenant``, ``type``,
            ``trace_id``, ``payload``. If somebody has made something else of the line, what the
            columns beside it say, without payload.
        writer: Whose chain it is in.
        seq: Its number there.
        mac: What signs it. Whether it does, ``audit verify`` says.
        has_detail: Whether what was found is kept in full.
        detail: That, if it was asked for and can be read.
        is_readable: Whether the line is an event.
    """

    event: Mapping[str, Any]
    writer: str
    seq: int
    mac: str
    has_detail: bool
    detail: Mapping[str, Any] | None = None
    is_readable: bool = True

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Read a row of ``audit_records``, with ``detail`` or ``has_detail`` beside it."""
        line, detail = _object(row["line"]), row.get("detail")
        is_event = line is not None and line.keys() >= _FIELDS
        return cls(
            event=line if line is not None and is_event else _of_columns(row),
            writer=str(row["writer"]),
            seq=row["seq"] if isinstance(row["seq"], int) else -1,
            mac=str(row["mac"]),
            has_detail=bool(row.get("has_detail", detail is not None)),
            detail=None if detail is None else _object(detail),
            is_readable=is_event,
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON data: the event, with ``chain`` and ``has_detail`` beside its fields."""
        return {
            **self.event,
            "chain": {"writer": self.writer, "seq": self.seq, "mac": self.mac},
            "has_detail": self.has_detail,
            "is_readable": self.is_readable,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some records.

    Attributes:
        events: In the order that was asked for.
        next: What gives the next page; ``None``: there is none. A page may be short, even empty,
            and have a next one: not all that was asked for has an index.
    """

    events: tuple[FoundRecord, ...]
    next: str | None


def position_of(row: Mapping[str, Any]) -> RecordPosition:
    """Where a row stands in the order of time."""
    return RecordPosition(row["moment"], row["writer"], row["seq"])


def line_of(row: Mapping[str, Any]) -> bytes:
    """A row as one line of a file, as the audit log writes it; what is no ASCII is written out.

    Then it is not what was signed, which is what ``audit verify`` says of it.
    """
    columns = {name: row[name] for name in AuditRecord.__slots__}
    with suppress(UnicodeEncodeError, TypeError):
        line = AuditRecord(**columns).to_line()
        if b"\n" not in line and b"\r" not in line:
            return line
    plain: dict[str, Any] = {
        name: value if isinstance(value, int | None) else _written_out(value)
        for name, value in columns.items()
    }
    return AuditRecord(**plain).to_line()


def _written_out(text: object) -> str:
    """A text in ASCII, on one line."""
    return "".join(
        each if " " <= each <= "~" else f"\\u{ord(each) & 0xFFFF:04x}" for each in str(text)
    )


def _object(text: object) -> dict[str, Any] | None:
    # SQLite takes values of any kind: what was put there may be no text.
    with suppress(ValueError, RecursionError, TypeError):
        data = json.loads(str(text), parse_constant=_no_constant)
        if isinstance(data, dict):
            return data
    return None


def _of_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    try:
        moment = moments.to_datetime(row["moment"])
    except (OverflowError, TypeError):
        moment = datetime.max.replace(tzinfo=UTC)
    return {
        "id": str(row["event_id"]),
        "timestamp": moment_text(moment),
        **{name: str(row[name]) for name in ("tenant", "type", "trace_id")},
        "payload": {},
    }


def _no_constant(word: str) -> None:
    """``NaN`` and ``Infinity`` are no JSON, and could not be shown as such."""
    raise ValueError(word)
