"""Filters of the audit trail: which events are asked for."""

from dataclasses import dataclass
from datetime import datetime

from groundwire.control.audit.event import EventType
from groundwire.errors import InputError
from groundwire.text.spelling import guess

_MAX_CHARS = 128


class InvalidFilterError(InputError):
    """A filter asks for something that no event can have."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(field, problem)
        self.field, self.problem = field, problem

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which events are asked for: those for which all of this holds. ``None`` asks for nothing.

    Attributes:
        tenant: The tenant.
        types: What happened: any of these; empty: anything.
        trace_id: The request.
        writer: The chain. The events then come in its order.
        since: From this moment on.
        until: Before this moment.
    """

    tenant: str | None = None
    types: tuple[str, ...] = ()
    trace_id: str | None = None
    writer: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        """Refuse values that no event can have, or that a database would refuse.

        Raises:
            InvalidFilterError: If no event can match; the message lists the possible values.
        """
        object.__setattr__(self, "types", tuple(dict.fromkeys(map(str, self.types))))
        for type_ in self.types:
            if type_ not in set(EventType):
                raise InvalidFilterError("type", _unknown(type_))
        for field in ("tenant", "trace_id", "writer"):
            text = getattr(self, field) or ""
            if len(text) > _MAX_CHARS:
                problem = f"it has {len(text):,} characters, and none has more than {_MAX_CHARS}"
                raise InvalidFilterError(field, problem)
            if any(each < " " or "\ud800" <= each <= "\udfff" for each in text):
                raise InvalidFilterError(field, "it has characters that no name can have")
        for field in ("since", "until"):
            moment = getattr(self, field)
            if moment is not None and moment.utcoffset() is None:
                raise InvalidFilterError(field, "a moment needs a time zone, such as Z for UTC")


def _unknown(type_: str) -> str:
    known = [str(each) for each in EventType]
    meant = guess(type_[:64], known)
    hint = f"; did you mean {meant}?" if meant else ""
    return f"there is no such event{hint} There are: {', '.join(known)}"
