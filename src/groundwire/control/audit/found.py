"""Records as they are read from the store, in a form that can be shown even after tampering."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from groundwire.control.audit.event import moment_text
from groundwire.control.store import moments
from groundwire.detection.rows import refuse_constant

_FIELDS = frozenset({"id", "timestamp", "tenant", "type", "trace_id", "payload"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRecord:
    """A record of the trail as it was read from the store.

    Attributes:
        event: The event in the record's line. If the line lacks a field of an event, the values
            come from the columns, and the payload is empty.
        writer: The id of the record's chain.
        seq: The number of the record in its chain; -1 if the stored value is not an integer.
        mac: The MAC of the record, which is not verified here.
        has_detail: Whether the detail of the record is kept.
        detail: The detail (findings about an answer); ``None`` if there is no detail, or it was not
            asked for, or cannot be read.
        is_readable: Whether the line has all fields of an event.
    """

    event: Mapping[str, Any]
    writer: str
    seq: int
    mac: str
    has_detail: bool
    detail: Mapping[str, Any] | None = None
    is_readable: bool = True

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> Self:
        """Read a row of ``audit_records`` with a further column ``detail`` or ``has_detail``."""
        line, detail = _object(row["line"]), row.get("detail")
        is_event = line.keys() >= _FIELDS
        return cls(
            event=line if is_event else _of_columns(row),
            writer=str(row["writer"]),
            seq=row["seq"] if isinstance(row["seq"], int) else -1,
            mac=str(row["mac"]),
            has_detail=bool(row.get("has_detail", detail is not None)),
            detail=_object(detail) or None,
            is_readable=is_event,
        )

    @property
    def answer_key(self) -> tuple[object, ...]:
        """A value that is equal for all events about one answer, if their details were read."""
        detail = self.detail or {}
        answer = detail.get("answer")
        hashed = answer.get("hash") if isinstance(answer, dict) else None
        return self.event["trace_id"], detail.get("index"), hashed

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data: the event's fields, ``chain``, ``has_detail`` and ``is_readable``."""
        return {
            **self.event,
            "chain": {"writer": self.writer, "seq": self.seq, "mac": self.mac},
            "has_detail": self.has_detail,
            "is_readable": self.is_readable,
        }


def _object(text: object) -> dict[str, Any]:
    """Read a text as a JSON object; return an empty object if the text is anything else."""
    with suppress(ValueError, RecursionError):
        data = json.loads(str(text), parse_constant=refuse_constant)
        if isinstance(data, dict):
            return data
    return {}


def _of_columns(row: Mapping[Any, Any]) -> dict[str, Any]:
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
