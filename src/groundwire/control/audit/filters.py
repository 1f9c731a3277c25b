"""Which records are asked for."""

from dataclasses import dataclass
from datetime import datetime

from groundwire.config.kinds import guess
from groundwire.control.audit.event import EventType
from groundwire.errors import InputError

_MAX_CHARS = 128


class InvalidFilterError(InputError):
    """Records are asked for by something that none can have."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(field, problem)
        self.field, self.problem = field, problem

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which records are asked for: those of which all holds. ``None`` asks for nothing.

    Attributes:
        tenant: Whose.
        types: What happened: any of these; empty: whatever it was.
        trace_id: In which request.
        writer: In which chain. They come in the order of the chain then.
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
        """Refuse what no record can have, and what a database would refuse.

        Raises:
            InvalidFilterError: With what is possible.
        """
        object.__setattr__(self, "types", tuple(dict.fromkeys(map(str, self.types))))
        for type_ in self.types:
            if type_ not in set(EventType):
                raise InvalidFilterError("type", _unknown(type_))
        for field in ("tenant", "trace_id", "writer"):
            _require_text(field, getattr(self, field))
        for field in ("since", "until"):
            moment = getattr(self, field)
            if moment is not None and moment.utcoffset() is None:
                raise InvalidFilterError(field, "a moment needs a time zone, such as Z for UTC")

    @property
    def is_of_chains(self) -> bool:
        """Whether it asks for nothing but a chain: for all of it, or for all there are."""
        return self in (Filter(), Filter(writer=self.writer))


def _require_text(field: str, text: str | None) -> None:
    if text is None:
        return
    if len(text) > _MAX_CHARS:
        problem = f"it has {len(text):,} characters, and none has more than {_MAX_CHARS}"
        raise InvalidFilterError(field, problem)
    if any(each < " " or "\ud800" <= each <= "\udfff" for each in text):
        raise InvalidFilterError(field, "it has characters that no name can have")


def _unknown(type_: str) -> str:
    known = [str(each) for each in EventType]
    meant = guess(type_[:64], known)
    hint = f"; did you mean {meant}?" if meant else ""
    return f"there is no such event{hint} There are: {', '.join(known)}"
